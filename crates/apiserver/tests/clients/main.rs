//! One suite of expectations, run through every way to reach a server.
//!
//! The expectations are upstream's: what a kube-apiserver 1.31 to 1.35 answers. The last entry
//! point runs the same suite against a real cluster to keep them honest.
//!
//! | variable | meaning |
//! |---|---|
//! | `LANDBRIDGE_TEST_KUBECONFIG` | kubeconfig of a cluster to run the suite against as well |
//! | `LANDBRIDGE_TEST_CONTROLLERS=0` | that cluster has no controllers: skip what needs them |
//! | `LANDBRIDGE_TEST_ONLY` | run only cases whose name contains this |
//! | `LANDBRIDGE_SKIP_FILE` | file that collects what was skipped, and why |

#![allow(clippy::expect_used)] // all of this is test code; clippy only knows `#[test]` functions

mod ctx;
mod harness;
mod reply;
mod suite;
mod watching;

use harness::{Local, run_suite, skip};

#[tokio::test(flavor = "multi_thread")]
async fn in_process() {
    let local = Local::start().await;
    run_suite("in process", local.in_process(), true).await;
    local.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unix_socket() {
    let local = Local::start().await;
    run_suite("unix socket", local.unix(), true).await;
    local.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls() {
    let local = Local::start().await;
    let endpoint = local.tls().await;
    endpoint.refuses_strangers().await;
    run_suite("tls", endpoint.client().await, true).await;
    local.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster() {
    let Some(path) = std::env::var_os("LANDBRIDGE_TEST_KUBECONFIG") else {
        skip("clients::cluster", "LANDBRIDGE_TEST_KUBECONFIG names no cluster");
        return;
    };
    let client = harness::from_kubeconfig_file(path.as_ref()).await;
    run_suite("cluster", client, false).await;
}

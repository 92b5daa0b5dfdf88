//! One suite, two servers: the same cases against the embedded cloud and against a real Keystone and
//! Neutron.
//!
//! The embedded cloud runs in this process, on loopback. The real pair is the one that `KEYSTONE_URL` names
//! (`scripts/openstack-peer start DIR` prints it), or one that is started here when
//! `LANDBRIDGE_PEER=start`; without either, that half is skipped, and says so.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cases;
mod lossy;
mod place;

use place::Place;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_embedded_cloud() {
    let place = Place::embedded().await;
    cases::all(&place).await;
    cases::compute::servers(&place).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_keystone_and_neutron() {
    match Place::real() {
        Ok(place) => {
            cases::all(&place).await;
            cases::compute::there_is_no_nova(&place).await;
        }
        Err(why) => skip(&why),
    }
}

fn skip(why: &str) {
    let line = format!("client on a real Keystone and Neutron: {why}\n");
    if let Some(file) = std::env::var_os("LANDBRIDGE_SKIP_FILE") {
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
    eprint!("skipped: {line}");
}

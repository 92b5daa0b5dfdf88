//! One connection, one request: whom it is for, there and back.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::header::{CONNECTION, HOST, HeaderName, HeaderValue, LOCATION, UPGRADE};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use landbridge_lb::pool::Pool;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::first::{Beginning, Begun};
use super::sites::{Insecure, Site, Sites, Termination};
use super::{Credentials, Door, tls};

/// A pod that does not take the connection in this time is not asked.
const PATIENCE: Duration = Duration::from_secs(2);
/// A client that has connected and says nothing is let go.
const SILENCE: Duration = Duration::from_secs(30);
/// A pod has so long to begin its answer.
const ANSWER: Duration = Duration::from_mins(2);
/// So many pods are tried for one request.
const TRIES: usize = 3;
/// Names under this one mean this machine: browsers need no name server for them.
const LOCAL: &str = ".localhost";
/// What concerns one connection and not the request.
const HOP: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

type Body = BoxBody<Bytes, hyper::Error>;

/// What all connections share.
pub struct Ingress {
    sites: RwLock<Arc<Sites>>,
    /// Addresses of Services.
    others: RwLock<BTreeSet<IpAddr>>,
    pools: Mutex<HashMap<String, Pool>>,
    credentials: Credentials,
    started: Instant,
}

impl Ingress {
    /// Nothing is served yet.
    pub fn new(credentials: Credentials) -> Self {
        Self {
            sites: RwLock::default(),
            others: RwLock::default(),
            pools: Mutex::default(),
            credentials,
            started: Instant::now(),
        }
    }

    /// From now on these are served.
    pub fn set(&self, sites: Sites) {
        {
            let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
            pools.retain(|route, _| sites.iter().any(|site| site.route == *route));
            for site in sites.iter() {
                let weights = site.backends.iter().map(|backend| (*backend, 1)).collect();
                pools.entry(site.route.clone()).or_default().set(&weights, None);
            }
        }
        *self.sites.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(sites);
    }

    /// From now on connections at these addresses are for others.
    pub fn keep_off(&self, addresses: BTreeSet<IpAddr>) {
        *self.others.write().unwrap_or_else(PoisonError::into_inner) = addresses;
    }

    /// Whether connections at an address are for others.
    pub fn is_kept_off(&self, address: IpAddr) -> bool {
        self.others.read().unwrap_or_else(PoisonError::into_inner).contains(&address)
    }

    fn sites(&self) -> Arc<Sites> {
        Arc::clone(&self.sites.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn pool<T>(&self, site: &Site, work: impl FnOnce(&mut Pool, Duration) -> T) -> T {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.started.elapsed();
        work(pools.entry(site.route.clone()).or_default(), now)
    }

    /// A connection to a pod of a Route.
    async fn reach(&self, site: &Site) -> Option<(TcpStream, SocketAddr)> {
        let anybody = IpAddr::from([0, 0, 0, 0]);
        let mut tried = Vec::new();
        while tried.len() < TRIES {
            let backend = self.pool(site, |pool, now| pool.pick(now, anybody, &tried))?;
            match tokio::time::timeout(PATIENCE, TcpStream::connect(backend)).await {
                Ok(Ok(stream)) => {
                    let _ = stream.set_nodelay(true);
                    self.pool(site, |pool, _| {
                        pool.reached(backend);
                        pool.ended(backend);
                    });
                    return Some((stream, backend));
                }
                _ => self.pool(site, |pool, now| pool.failed(now, backend)),
            }
            tried.push(backend);
        }
        None
    }
}

/// Serves one connection to its end.
pub async fn connection<S>(ingress: Arc<Ingress>, stream: S, client: Option<IpAddr>, door: Door)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    if let Err(error) = serve(ingress, stream, client, door).await {
        tracing::debug!("a connection of the ingress ended: {error:#}");
    }
}

/// Boxed: a tunnel is a connection within a connection.
fn serve<S>(
    ingress: Arc<Ingress>,
    stream: S,
    client: Option<IpAddr>,
    door: Door,
) -> futures::future::BoxFuture<'static, anyhow::Result<()>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    Box::pin(async move {
        let begun = tokio::time::timeout(SILENCE, Begun::read(stream)).await;
        let (beginning, mut stream) = begun.context("the client says nothing")??;
        let name = match beginning {
            Beginning::Other => {
                anyhow::ensure!(door != Door::Secure, "a client without TLS");
                return http(ingress, stream, client, door, false).await;
            }
            Beginning::Tls(_) if door == Door::Plain => anyhow::bail!("TLS at the plain port"),
            Beginning::Tls(name) => name.context("a client that names no host")?,
        };
        let name = name.strip_suffix(LOCAL).unwrap_or(&name);
        let sites = ingress.sites();
        let site = sites.of_host(name);
        if let Some(site) = site.filter(|site| site.termination == Termination::Passthrough) {
            let (mut pod, _) = ingress.reach(site).await.context("no pod can be reached")?;
            tokio::io::copy_bidirectional(&mut stream, &mut pod).await?;
            return Ok(());
        }
        let config = tls::server(site.map(|site| &**site), ingress.credentials.identity.as_ref())
            .with_context(|| format!("the host {name}"))?;
        let accepted = tokio_rustls::TlsAcceptor::from(config).accept(stream);
        let stream = tokio::time::timeout(SILENCE, accepted).await.context("no TLS")??;
        http(ingress, stream, client, door, true).await
    })
}

async fn http<S>(
    ingress: Arc<Ingress>,
    stream: S,
    client: Option<IpAddr>,
    door: Door,
    secure: bool,
) -> anyhow::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request| {
        let ingress = Arc::clone(&ingress);
        async move { Ok::<_, Infallible>(answer(ingress, request, client, door, secure).await) }
    });
    hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .await
        .map_err(|error| anyhow::anyhow!(error))
}

fn say(status: StatusCode, text: String) -> Response<Body> {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}

/// The host a request is for, without a port.
fn host_of<B>(request: &Request<B>) -> Option<String> {
    let authority = request.uri().authority().map(|authority| authority.host().to_owned());
    let header = || {
        let text = request.headers().get(HOST)?.to_str().ok()?;
        let uri: http::uri::Authority = text.parse().ok()?;
        Some(uri.host().to_owned())
    };
    let host = authority.or_else(header)?;
    Some(host.strip_suffix(LOCAL).unwrap_or(&host).to_owned())
}

async fn answer(
    ingress: Arc<Ingress>,
    request: Request<Incoming>,
    client: Option<IpAddr>,
    door: Door,
    secure: bool,
) -> Response<Body> {
    let Some(host) = host_of(&request) else {
        return say(StatusCode::BAD_REQUEST, "a request without a host\n".to_owned());
    };
    if request.method() == Method::CONNECT {
        if door != Door::Proxy || secure {
            let text = "tunnels are for the machine that runs the lab\n".to_owned();
            return say(StatusCode::METHOD_NOT_ALLOWED, text);
        }
        tokio::spawn(async move {
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                connection(ingress, TokioIo::new(upgraded), client, door).await;
            }
        });
        return say(StatusCode::OK, String::new());
    }
    let sites = ingress.sites();
    let Some(site) = sites.find(&host, request.uri().path()) else {
        let text = format!(
            "no Route is served for {host}{}\n\nhosts: {}\n",
            request.uri().path(),
            sites.hosts().join(", ")
        );
        return say(StatusCode::SERVICE_UNAVAILABLE, text);
    };
    if !secure && site.termination != Termination::Plain {
        match site.insecure {
            Insecure::Allow if site.termination != Termination::Passthrough => {}
            Insecure::Redirect => return redirect(&host, request.uri()),
            _ => {
                let text = format!("Route {} is served with TLS only\n", site.route);
                return say(StatusCode::SERVICE_UNAVAILABLE, text);
            }
        }
    }
    match forward(&ingress, site, request, &host, client, secure).await {
        Ok(response) => response,
        Err(error) => say(
            StatusCode::BAD_GATEWAY,
            format!("Route {}, Service {}: {error:#}\n", site.route, site.service),
        ),
    }
}

fn redirect(host: &str, uri: &Uri) -> Response<Body> {
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut response = say(StatusCode::FOUND, String::new());
    if let Ok(to) = HeaderValue::from_str(&format!("https://{host}{path}")) {
        response.headers_mut().insert(LOCATION, to);
    }
    response
}

async fn forward(
    ingress: &Ingress,
    site: &Site,
    mut request: Request<Incoming>,
    host: &str,
    client: Option<IpAddr>,
    secure: bool,
) -> anyhow::Result<Response<Body>> {
    if site.backends.is_empty() {
        let text =
            format!("Route {}: no pod behind Service {} is ready\n", site.route, site.service);
        return Ok(say(StatusCode::SERVICE_UNAVAILABLE, text));
    }
    let upgrade = request.headers().get(UPGRADE).cloned();
    let onward = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
    prepare(&mut request, host, client, secure, upgrade.as_ref())?;
    let Some((stream, backend)) = ingress.reach(site).await else {
        let text = format!(
            "Route {}: no pod behind Service {} takes connections\n",
            site.route, site.service
        );
        return Ok(say(StatusCode::SERVICE_UNAVAILABLE, text));
    };
    let sent = if site.termination == Termination::Reencrypt {
        match encrypt(site, stream, backend, ingress.credentials.pods.as_deref()).await {
            Ok(stream) => send(stream, request).await,
            // As OpenShift's router has it: a pod it cannot speak with is no pod.
            Err(error) => {
                let text = format!("Route {}, Service {}: {error:#}\n", site.route, site.service);
                return Ok(say(StatusCode::SERVICE_UNAVAILABLE, text));
            }
        }
    } else {
        send(stream, request).await
    };
    let mut response = sent.with_context(|| format!("the pod at {backend}"))?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        if let Some(onward) = onward {
            let back = hyper::upgrade::on(&mut response);
            tokio::spawn(async move {
                if let (Ok(client), Ok(pod)) = (onward.await, back.await) {
                    let (mut client, mut pod) = (TokioIo::new(client), TokioIo::new(pod));
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut pod).await;
                }
            });
        }
        return Ok(response.map(BodyExt::boxed));
    }
    for name in HOP {
        response.headers_mut().remove(name);
    }
    Ok(response.map(BodyExt::boxed))
}

/// TLS with a pod, which has to show a certificate for its Service.
async fn encrypt(
    site: &Site,
    stream: TcpStream,
    backend: SocketAddr,
    trusted: Option<&str>,
) -> anyhow::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let config = tls::client(site, trusted)?;
    let host = format!("{}.{}.svc", site.service, namespace(site));
    let name = host.clone().try_into().context("the Service's name is no host name")?;
    let begun = tokio_rustls::TlsConnector::from(config).connect(name, stream);
    let begun = tokio::time::timeout(PATIENCE, begun).await.context("no TLS in time");
    begun.and_then(|begun| Ok(begun?)).with_context(|| {
        format!(
            "reencrypt asks for TLS, and the pod at {backend} does not speak it with a certificate for {host} \
             that tls.destinationCACertificate vouches for; if it speaks plain HTTP, termination edge is the one to use"
        )
    })
}

fn namespace(site: &Site) -> &str {
    site.route.split_once('/').map_or("", |(namespace, _)| namespace)
}

/// Makes the request of a client one of ours: in the form servers want, with who asked for it.
fn prepare(
    request: &mut Request<Incoming>,
    host: &str,
    client: Option<IpAddr>,
    secure: bool,
    upgrade: Option<&HeaderValue>,
) -> anyhow::Result<()> {
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    *request.uri_mut() = path.parse().context("the path of the request")?;
    *request.version_mut() = http::Version::HTTP_11;
    let headers = request.headers_mut();
    for name in HOP {
        headers.remove(name);
    }
    if let Some(protocol) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol.clone());
    }
    headers.insert(HOST, HeaderValue::from_str(host)?);
    let mut note = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    note("x-forwarded-host", host);
    note("x-forwarded-proto", if secure { "https" } else { "http" });
    note("x-forwarded-port", if secure { "443" } else { "80" });
    if let Some(client) = client {
        note("x-forwarded-for", &client.to_string());
    }
    Ok(())
}

async fn send<S>(stream: S, request: Request<Incoming>) -> anyhow::Result<Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // How it ends, the request is told.
        let _ = connection.with_upgrades().await;
    });
    let response = tokio::time::timeout(ANSWER, sender.send_request(request)).await;
    Ok(response.context("no answer in time")??)
}

//! A server, and requests of whoever is needed.

use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use landbridge_apiserver::{ApiServer, Identity, NodeObjects, Options};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
pub const SELF_ACCESS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
pub const ACCESS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

pub struct World {
    pub server: ApiServer,
    pub dir: TempDir,
}

/// Who sends a request.
#[derive(Clone, Debug)]
pub enum Who {
    Known(Identity),
    Token(String),
    Stranger,
    /// The administrator, in the shoes of somebody else.
    As(&'static str, &'static [&'static str]),
}

pub fn bob() -> Who {
    Who::Known(Identity::new("bob", &[]))
}

pub fn admin() -> Who {
    Who::Known(Identity::admin())
}

#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub body: Value,
}

impl Answer {
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(matches!(self.code, 200 | 201), "{self:?}");
        self.body
    }

    #[track_caller]
    pub fn refused(&self, code: u16, message: &str) {
        assert_eq!(self.code, code, "{self:?}");
        let said = self.body["message"].as_str().unwrap_or_default();
        assert!(said.contains(message), "{message:?} is missing from {said:?}");
    }

    #[track_caller]
    pub fn forbidden(&self, message: &str) {
        self.refused(403, message);
        assert_eq!(self.body["reason"], "Forbidden");
    }
}

impl World {
    pub async fn new() -> Self {
        Self::with(Vec::new()).await
    }

    /// A server that knows of kinds of which nodes have objects.
    pub async fn with(node_objects: Vec<NodeObjects>) -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let options = Options { node_objects, ..Options::new(dir.path()) };
        let server = ApiServer::open(options).await.expect("server");
        Self { server, dir }
    }

    /// Sends a request; `what` is `METHOD PATH`. A watch is answered by its head only.
    pub async fn send(&self, who: &Who, what: &str, body: Option<&Value>) -> Answer {
        let (method, path) = what.split_once(' ').expect("method");
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).expect("method"))
            .uri(path);
        let content =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        request = request.header("content-type", content);
        let mut identity = None;
        match who {
            Who::Known(known) => identity = Some(known.clone()),
            Who::Token(token) => {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            Who::Stranger => {}
            Who::As(user, groups) => {
                identity = Some(Identity::admin());
                request = request.header("impersonate-user", *user);
                for group in *groups {
                    request = request.header("impersonate-group", *group);
                }
            }
        }
        let bytes = body.map(|body| serde_json::to_vec(body).expect("json")).unwrap_or_default();
        let request = request.body(Full::new(bytes::Bytes::from(bytes))).expect("request");
        let response = self.server.handle(request, identity.as_ref()).await;
        let code = response.status().as_u16();
        if code == 200 && path.contains("watch=true") {
            return Answer { code, body: Value::Null };
        }
        let bytes = response.into_body().collect().await.expect("body").to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::String(text));
        Answer { code, body }
    }

    pub async fn get(&self, who: &Who, path: &str) -> Answer {
        self.send(who, &format!("GET {path}"), None).await
    }

    pub async fn post(&self, who: &Who, path: &str, body: &Value) -> Answer {
        self.send(who, &format!("POST {path}"), Some(body)).await
    }

    /// Creates as the administrator.
    pub async fn make(&self, path: &str, body: Value) -> Value {
        self.post(&admin(), path, &body).await.ok()
    }

    pub async fn role(&self, namespace: &str, name: &str, rules: Value) {
        let role = json!({"metadata": {"name": name}, "rules": rules});
        self.make(&format!("{RBAC}/namespaces/{namespace}/roles"), role).await;
    }

    pub async fn cluster_role(&self, name: &str, rules: Value) {
        let role = json!({"metadata": {"name": name}, "rules": rules});
        self.make(&format!("{RBAC}/clusterroles"), role).await;
    }

    /// Binds a role to a user, in a namespace or (when empty) everywhere.
    pub async fn bind(&self, namespace: &str, kind: &str, role: &str, user: &str) {
        let binding = json!({
            "metadata": {"name": format!("{role}-{user}")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "User", "name": user}],
        });
        let path = match namespace {
            "" => format!("{RBAC}/clusterrolebindings"),
            namespace => format!("{RBAC}/namespaces/{namespace}/rolebindings"),
        };
        self.make(&path, binding).await;
    }

    pub async fn config_map(&self, namespace: &str, name: &str) {
        let map = json!({"metadata": {"name": name}});
        self.make(&format!("/api/v1/namespaces/{namespace}/configmaps"), map).await;
    }

    pub async fn account(&self, namespace: &str, name: &str) -> Value {
        let account = json!({"metadata": {"name": name}});
        self.make(&format!("/api/v1/namespaces/{namespace}/serviceaccounts"), account).await
    }

    pub async fn token(&self, namespace: &str, name: &str, spec: Value) -> Answer {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        self.post(&admin(), &path, &json!({"spec": spec})).await
    }

    pub async fn token_of(&self, namespace: &str, name: &str) -> String {
        let answer = self.token(namespace, name, json!({})).await.ok();
        answer["status"]["token"].as_str().expect("token").to_owned()
    }
}

pub fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!([{"apiGroups": [group], "resources": resources, "verbs": verbs}])
}

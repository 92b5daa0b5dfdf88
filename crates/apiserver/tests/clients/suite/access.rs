//! Who may do what, as far as the administrator can ask about it: reviews, tokens, impersonation.

use anyhow::{Result, ensure};
use http::Method;
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, JSON};
use crate::reply::{Reply, text};

cases![who_am_i, may_he, impersonated, token_of_an_account, protobuf_review];

const AUTHENTICATION: &str = "/apis/authentication.k8s.io/v1";
const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";

async fn as_user(ctx: &Ctx, user: &str, path: &str, body: Option<&Value>) -> Result<Reply> {
    let method = if body.is_some() { Method::POST } else { Method::GET };
    let call = ctx.call(method, path).header("impersonate-user", user);
    match body {
        Some(body) => call.body(JSON, body.to_string()).send().await,
        None => call.send().await,
    }
}

async fn who_am_i(ctx: &Ctx) -> Result<()> {
    let path = format!("{AUTHENTICATION}/selfsubjectreviews");
    let me = ctx.post(&path, &json!({})).await?.created()?;
    let groups = &me["status"]["userInfo"]["groups"];
    ensure!(groups.to_string().contains("system:authenticated"), "{me}");
    let eve = as_user(ctx, "eve", &path, Some(&json!({}))).await?.created()?;
    ensure!(text(&eve, "/status/userInfo/username")? == "eve", "{eve}");
    Ok(())
}

async fn may_he(ctx: &Ctx) -> Result<()> {
    let path = format!("{AUTHORIZATION}/subjectaccessreviews");
    let attributes = json!({"verb": "get", "resource": "pods", "namespace": ctx.namespace});
    let review = json!({"spec": {"user": "eve", "resourceAttributes": attributes}});
    let no = ctx.post(&path, &review).await?.created()?;
    ensure!(no["status"]["allowed"] == false, "{no}");
    let rbac = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": {"name": "eve"}, "subjects": [{"kind": "User", "apiGroup": rbac, "name": "eve"}],
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
    });
    let bindings = ctx.path("rbac.authorization.k8s.io/v1", "rolebindings");
    ctx.post(&bindings, &binding).await?.created()?;
    ctx.eventually("the binding counts", async || {
        let yes = ctx.post(&path, &review).await?.created()?;
        let reason = yes["status"]["reason"].as_str().unwrap_or_default();
        Ok((yes["status"]["allowed"] == true && reason.contains("RoleBinding")).then_some(()))
    })
    .await?;
    ctx.get(&path).await?.refused(405, "MethodNotAllowed", "")?;
    Ok(())
}

async fn impersonated(ctx: &Ctx) -> Result<()> {
    let namespace = &ctx.namespace;
    let refusal = format!(
        "configmaps is forbidden: User \"mallory\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"{namespace}\""
    );
    let reply = as_user(ctx, "mallory", &ctx.core("configmaps"), None).await?;
    let status = reply.refused(403, "Forbidden", &refusal)?;
    ensure!(status["details"]["kind"] == "configmaps", "{status}");
    let reply = as_user(ctx, "mallory", "/api/v1/nodes", None).await?;
    reply.refused(403, "Forbidden", "at the cluster scope")?;
    let reply = as_user(ctx, "mallory", "/metrics/none", None).await?;
    reply.refused(403, "Forbidden", "User \"mallory\" cannot get path \"/metrics/none\"")?;
    as_user(ctx, "mallory", "/version", None).await?.ok()?;
    Ok(())
}

async fn token_of_an_account(ctx: &Ctx) -> Result<()> {
    let accounts = ctx.core("serviceaccounts");
    let account = ctx.post(&accounts, &json!({"metadata": {"name": "robot"}})).await?.created()?;
    let path = format!("{accounts}/robot/token");
    let answer = ctx.post(&path, &json!({"spec": {"expirationSeconds": 600}})).await?.created()?;
    ensure!(answer["kind"] == "TokenRequest", "{answer}");
    let token = text(&answer, "/status/token")?;
    ensure!(token.split('.').count() == 3, "no JSON web token");
    let reviews = format!("{AUTHENTICATION}/tokenreviews");
    let review = json!({"spec": {"token": token}});
    let known = ctx.post(&reviews, &review).await?.created()?;
    ensure!(known["status"]["authenticated"] == true, "{known}");
    let user = &known["status"]["user"];
    let name = format!("system:serviceaccount:{}:robot", ctx.namespace);
    ensure!(
        user["username"] == name.as_str() && user["uid"] == account["metadata"]["uid"],
        "{user}"
    );
    let short = ctx.post(&path, &json!({"spec": {"expirationSeconds": 10}})).await?;
    short.refused(422, "Invalid", "may not specify a duration less than 10 minutes")?;
    let forged = ctx.post(&reviews, &json!({"spec": {"token": "a.b.c"}})).await?.created()?;
    ensure!(forged["status"]["authenticated"] != true, "{forged}");
    Ok(())
}

/// Go clients ask in protobuf: an envelope around spec (2) → resourceAttributes (1) → verb, resource.
async fn protobuf_review(ctx: &Ctx) -> Result<()> {
    let field = |number: u8, bytes: &[u8]| -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
        [&[number << 3 | 2, length], bytes].concat()
    };
    let attributes = [field(2, b"get"), field(5, b"pods")].concat();
    let raw = field(2, &field(1, &attributes));
    let kind =
        [field(1, b"authorization.k8s.io/v1"), field(2, b"SelfSubjectAccessReview")].concat();
    let body = [b"k8s\0".to_vec(), field(1, &kind), field(2, &raw)].concat();
    let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
    let call = ctx.call(Method::POST, &path).accept(JSON);
    let reply = call.body("application/vnd.kubernetes.protobuf", body).send().await?.created()?;
    ensure!(reply["spec"]["resourceAttributes"]["resource"] == "pods", "{reply}");
    ensure!(reply["status"]["allowed"] == true, "{reply}");
    Ok(())
}

//! Rules of CRDs in CEL: `x-kubernetes-validations`.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::cases;
use super::crds::{group, install, widget, widgets};
use crate::ctx::{CRDS, Ctx};
use crate::reply::{causes, text};

cases![
    broken_rules,
    schema_first,
    transitions,
    messages,
    reasons,
    libraries,
    escaped_names,
    evaluation_errors,
    keyed_lists,
    optional_old_self,
    unchanged_values,
    status_rules,
    resource_rules,
    rules_that_do_not_compile,
    rules_in_every_version,
];

/// A CRD whose spec has these properties and rules. Everything is bounded, as upstream demands of
/// schemas with rules.
fn ruled(ctx: &Ctx, properties: &Value, rules: &Value) -> Value {
    let mut crd = widgets(ctx, properties);
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["x-kubernetes-validations"] = rules.clone();
    crd
}

fn range() -> Value {
    json!({"min": {"type": "integer"}, "max": {"type": "integer"}, "note": {"type": "string", "maxLength": 20}})
}

async fn broken_rules(ctx: &Ctx) -> Result<()> {
    let rules = json!([
        {"rule": "self.max >= self.min", "message": "max must be at least min"},
        {"rule": "!has(self.note) || self.note != 'bad'"},
    ]);
    let path = install(ctx, &ruled(ctx, &range(), &rules)).await?;
    let wrong = widget(ctx, "wrong", &json!({"min": 5, "max": 1}));
    let reply = ctx.post(&path, &wrong).await?;
    let status = reply.invalid("spec", "FieldValueInvalid", "max must be at least min")?;
    let head = format!("Widget.{} \"wrong\" is invalid: spec: Invalid value: ", group(ctx));
    ensure!(text(&status, "/message")?.starts_with(&head), "{status}");
    let wrong = widget(ctx, "wrong", &json!({"min": 5, "max": 1, "note": "bad"}));
    let status = ctx.post(&path, &wrong).await?.refused(
        422,
        "Invalid",
        "failed rule: !has(self.note) || self.note != 'bad'",
    )?;
    ensure!(causes(&status).len() == 2, "{status}");
    ctx.post(&path, &widget(ctx, "right", &json!({"min": 1, "max": 5}))).await?.created()?;
    let right = format!("{path}/right");
    let reply = ctx.merge(&right, &json!({"spec": {"max": 0}})).await?;
    reply.invalid("spec", "FieldValueInvalid", "max must be at least min")?;
    let dry = format!("{path}?dryRun=All");
    let wrong = widget(ctx, "dry", &json!({"min": 5, "max": 1}));
    ctx.post(&dry, &wrong).await?.refused(422, "Invalid", "max must be at least min")?;
    ensure!(ctx.get(&right).await?.ok()?["spec"]["max"] == 5, "unchanged");
    Ok(())
}

/// Rules see objects of the right shape only.
async fn schema_first(ctx: &Ctx) -> Result<()> {
    let rules = json!([{"rule": "self.max >= self.min", "message": "max must be at least min"}]);
    let path = install(ctx, &ruled(ctx, &range(), &rules)).await?;
    let wrong = widget(ctx, "wrong", &json!({"min": "x", "max": 1}));
    let reply = ctx.post(&path, &wrong).await?;
    let status = reply.invalid("spec.min", "FieldValueTypeInvalid", "must be of type integer")?;
    ensure!(!text(&status, "/message")?.contains("at least min"), "{status}");
    Ok(())
}

async fn transitions(ctx: &Ctx) -> Result<()> {
    let properties = json!({
        "class": {"type": "string", "maxLength": 20, "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "class is immutable"}]},
        "size": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "self >= oldSelf", "message": "may only grow"}]},
    });
    let rules =
        json!([{"rule": "!has(oldSelf.class) || has(self.class)", "message": "class must stay"}]);
    let path = install(ctx, &ruled(ctx, &properties, &rules)).await?;
    ctx.post(&path, &widget(ctx, "w", &json!({"class": "a", "size": 2}))).await?.created()?;
    let one = format!("{path}/w");
    let patch = async |spec: Value| ctx.merge(&one, &json!({"spec": spec})).await;
    patch(json!({"class": "b"})).await?.invalid(
        "spec.class",
        "FieldValueInvalid",
        "class is immutable",
    )?;
    patch(json!({"size": 1})).await?.invalid("spec.size", "FieldValueInvalid", "may only grow")?;
    patch(json!({"class": null})).await?.invalid("spec", "FieldValueInvalid", "class must stay")?;
    patch(json!({"size": 3})).await?.ok()?;
    ctx.post(&path, &widget(ctx, "bare", &json!({}))).await?.created()?;
    let bare = format!("{path}/bare");
    ctx.merge(&bare, &json!({"spec": {"class": "late", "size": 0}})).await?.ok()?;
    Ok(())
}

async fn messages(ctx: &Ctx) -> Result<()> {
    let rules = json!([
        {"rule": "self.max >= self.min", "messageExpression": "'max %d is less than %d'.format([self.max, self.min])"},
        {"rule": "self.min >= 0", "messageExpression": "self.note", "message": "min is negative"},
        {"rule": "self.max < 100", "fieldPath": ".max", "message": "max is huge"},
    ]);
    let path = install(ctx, &ruled(ctx, &range(), &rules)).await?;
    for (spec, field, message) in [
        (json!({"min": 5, "max": 1}), "spec", "max 1 is less than 5"),
        (json!({"min": -1, "max": 1}), "spec", "min is negative"),
        (json!({"min": -1, "max": 1, "note": "less than nothing"}), "spec", "less than nothing"),
        (json!({"min": 1, "max": 100}), "spec.max", "max is huge"),
    ] {
        let reply = ctx.post(&path, &widget(ctx, "wrong", &spec)).await?;
        reply.invalid(field, "FieldValueInvalid", message).with_context(|| spec.to_string())?;
    }
    Ok(())
}

async fn reasons(ctx: &Ctx) -> Result<()> {
    let rule = |value: i64, reason: &str| json!({"rule": format!("self.min != {value}"), "reason": reason, "fieldPath": ".min", "message": "because"});
    let rules = json!([
        rule(1, "FieldValueInvalid"),
        rule(2, "FieldValueForbidden"),
        rule(3, "FieldValueRequired"),
        rule(4, "FieldValueDuplicate"),
    ]);
    let path = install(ctx, &ruled(ctx, &range(), &rules)).await?;
    for (value, reason, wording) in [
        (1, "FieldValueInvalid", "spec.min: Invalid value: "),
        (2, "FieldValueForbidden", "spec.min: Forbidden: because"),
        (3, "FieldValueRequired", "spec.min: Required value: because"),
        (4, "FieldValueDuplicate", "spec.min: Duplicate value: "),
    ] {
        let reply = ctx.post(&path, &widget(ctx, "wrong", &json!({"min": value}))).await?;
        reply.invalid("spec.min", reason, wording)?;
    }
    Ok(())
}

async fn libraries(ctx: &Ctx) -> Result<()> {
    let text = |rule: &str| json!({"type": "string", "maxLength": 40, "x-kubernetes-validations": [{"rule": rule, "message": "refused"}]});
    let properties = json!({
        "text": text("self.matches('^[a-z]+$') && self.size() < 6 && !self.contains('zz')"),
        "memory": text("isQuantity(self) && quantity(self).isLessThan(quantity('2Gi'))"),
        "link": text("isURL(self) && url(self).getScheme() == 'https'"),
        "address": text("isIP(self) && cidr('192.0.2.0/24').containsIP(self)"),
        "when": {"type": "string", "format": "date-time", "x-kubernetes-validations": [
            {"rule": "self > timestamp('2020-01-01T00:00:00Z')", "message": "refused"}]},
        "wait": {"type": "string", "format": "duration", "x-kubernetes-validations": [
            {"rule": "self <= duration('1h')", "message": "refused"}]},
        "list": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}, "x-kubernetes-validations": [
            {"rule": "self.all(x, x.startsWith('a')) && sets.contains(['a', 'ab', 'abc'], self)", "message": "refused"}]},
        "port": {"x-kubernetes-int-or-string": true, "x-kubernetes-validations": [
            {"rule": "type(self) == int ? self > 0 : self.endsWith('%')", "message": "refused"}]},
    });
    let path = install(ctx, &ruled(ctx, &properties, &json!([]))).await?;
    for (field, good, bad) in [
        ("text", json!("abc"), json!("abzz")),
        ("memory", json!("512Mi"), json!("2Gi")),
        ("link", json!("https://example.com"), json!("http://example.com")),
        ("address", json!("192.0.2.7"), json!("192.0.3.7")),
        ("when", json!("2026-01-01T00:00:00Z"), json!("2019-01-01T00:00:00Z")),
        ("wait", json!("59m"), json!("61m")),
        ("list", json!(["a", "abc"]), json!(["a", "b"])),
        ("port", json!(80), json!(0)),
    ] {
        let reply = ctx.post(&path, &widget(ctx, field, &json!({field: good}))).await?;
        reply.created().with_context(|| field.to_owned())?;
        let reply = ctx.post(&path, &widget(ctx, "wrong", &json!({field: bad}))).await?;
        let place = format!("spec.{field}");
        reply.invalid(&place, "FieldValueInvalid", "refused").with_context(|| field.to_owned())?;
    }
    Ok(())
}

async fn escaped_names(ctx: &Ctx) -> Result<()> {
    let text = json!({"type": "string", "maxLength": 10});
    let properties = json!({"with-dash": text, "namespace": text, "two__lines": text});
    let rule = "self.with__dash__dash == self.__namespace__ && self.two__underscores__lines == 'x'";
    let rules = json!([{"rule": rule, "message": "refused"}]);
    let path = install(ctx, &ruled(ctx, &properties, &rules)).await?;
    let spec = json!({"with-dash": "a", "namespace": "a", "two__lines": "x"});
    ctx.post(&path, &widget(ctx, "right", &spec)).await?.created()?;
    let spec = json!({"with-dash": "a", "namespace": "b", "two__lines": "x"});
    let reply = ctx.post(&path, &widget(ctx, "wrong", &spec)).await?;
    reply.invalid("spec", "FieldValueInvalid", "refused")?;
    Ok(())
}

async fn evaluation_errors(ctx: &Ctx) -> Result<()> {
    let rules = json!([{"rule": "self.max > 10 / self.min"}]);
    let path = install(ctx, &ruled(ctx, &range(), &rules)).await?;
    for (spec, why) in
        [(json!({}), "no such key: "), (json!({"min": 0, "max": 1}), "division by zero")]
    {
        let reply = ctx.post(&path, &widget(ctx, "wrong", &spec)).await?;
        let status = reply.invalid("spec", "FieldValueInvalid", why)?;
        let message = text(&status, "/message")?;
        ensure!(message.contains("evaluating rule: self.max > 10 / self.min"), "{message}");
    }
    Ok(())
}

async fn keyed_lists(ctx: &Ctx) -> Result<()> {
    let properties = json!({"parts": {
        "type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "maxLength": 10},
            "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed"}]},
        }},
    }});
    let path = install(ctx, &ruled(ctx, &properties, &json!([]))).await?;
    let parts = |list: Value| json!({"parts": list});
    let before = parts(json!([{"name": "a", "size": 1}, {"name": "b", "size": 2}]));
    ctx.post(&path, &widget(ctx, "w", &before)).await?.created()?;
    let one = format!("{path}/w");
    let turned = parts(
        json!([{"name": "b", "size": 2}, {"name": "c", "size": 3}, {"name": "a", "size": 1}]),
    );
    ctx.merge(&one, &json!({"spec": turned})).await?.ok()?;
    let changed = parts(json!([{"name": "b", "size": 2}, {"name": "a", "size": 9}]));
    let reply = ctx.merge(&one, &json!({"spec": changed})).await?;
    reply.invalid("spec.parts[1].size", "FieldValueInvalid", "fixed")?;
    Ok(())
}

async fn optional_old_self(ctx: &Ctx) -> Result<()> {
    let rule = "!oldSelf.hasValue() ? self == 1 : self > oldSelf.value()";
    let properties = json!({"step": {"type": "integer", "x-kubernetes-validations": [
        {"rule": rule, "optionalOldSelf": true, "message": "starts with 1 and grows"}]}});
    let path = install(ctx, &ruled(ctx, &properties, &json!([]))).await?;
    let reply = ctx.post(&path, &widget(ctx, "w", &json!({"step": 2}))).await?;
    reply.invalid("spec.step", "FieldValueInvalid", "starts with 1 and grows")?;
    ctx.post(&path, &widget(ctx, "w", &json!({"step": 1}))).await?.created()?;
    let one = format!("{path}/w");
    ctx.merge(&one, &json!({"spec": {"step": 5}})).await?.ok()?;
    let reply = ctx.merge(&one, &json!({"spec": {"step": 4}})).await?;
    reply.invalid("spec.step", "FieldValueInvalid", "starts with 1 and grows")?;
    Ok(())
}

/// A rule that came later does not lock out what is there.
async fn unchanged_values(ctx: &Ctx) -> Result<()> {
    let crd = widgets(ctx, &json!({"size": {"type": "integer"}, "note": {"type": "string"}}));
    let path = install(ctx, &crd).await?;
    ctx.post(&path, &widget(ctx, "old", &json!({"size": 1}))).await?.created()?;
    let name = format!("{CRDS}/{}", text(&crd, "/metadata/name")?);
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/x-kubernetes-validations";
    let rules = json!([{"rule": "self > 10", "message": "too small"}]);
    let patch = json!([{"op": "add", "path": place, "value": rules}]);
    ctx.patch(&name, crate::ctx::JSON_PATCH, &patch).await?.ok()?;
    ctx.eventually("the rule is in force", async || {
        let reply = ctx
            .post(&format!("{path}?dryRun=All"), &widget(ctx, "new", &json!({"size": 1})))
            .await?;
        Ok((reply.code == 422).then_some(()))
    })
    .await?;
    let one = format!("{path}/old");
    ctx.merge(&one, &json!({"spec": {"note": "kept"}})).await?.ok()?;
    let reply = ctx.merge(&one, &json!({"spec": {"size": 2}})).await?;
    reply.invalid("spec.size", "FieldValueInvalid", "too small")?;
    ctx.merge(&one, &json!({"spec": {"size": 11}})).await?.ok()?;
    Ok(())
}

async fn status_rules(ctx: &Ctx) -> Result<()> {
    let mut crd = widgets(ctx, &json!({"size": {"type": "integer"}}));
    let version = &mut crd["spec"]["versions"][0];
    version["subresources"] = json!({"status": {}});
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = json!({
        "type": "object", "properties": {"ready": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.ready >= 0", "message": "ready is negative"}],
    });
    let path = install(ctx, &crd).await?;
    ctx.post(&path, &widget(ctx, "w", &json!({"size": 1}))).await?.created()?;
    let status = format!("{path}/w/status");
    let reply = ctx.merge(&status, &json!({"status": {"ready": -1}})).await?;
    reply.invalid("status", "FieldValueInvalid", "ready is negative")?;
    ctx.merge(&status, &json!({"status": {"ready": 1}})).await?.ok()?;
    Ok(())
}

async fn resource_rules(ctx: &Ctx) -> Result<()> {
    let mut crd = widgets(ctx, &json!({"owner": {"type": "string", "maxLength": 20}}));
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["x-kubernetes-validations"] = json!([
        {"rule": "self.metadata.name.startsWith(self.spec.owner)", "message": "the name must start with its owner"},
    ]);
    let path = install(ctx, &crd).await?;
    ctx.post(&path, &widget(ctx, "me-1", &json!({"owner": "me"}))).await?.created()?;
    let reply = ctx.post(&path, &widget(ctx, "you-1", &json!({"owner": "me"}))).await?;
    reply.refused(422, "Invalid", "the name must start with its owner")?;
    Ok(())
}

async fn rules_that_do_not_compile(ctx: &Ctx) -> Result<()> {
    let below =
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]";
    for (rule, field, wording) in [
        (json!({"rule": "self.min >"}), "rule", "compilation failed: ERROR: <input>:1:"),
        (json!({"rule": "self.mni > 1"}), "rule", "undefined field 'mni'"),
        (json!({"rule": "mystery(self.min)"}), "rule", "undeclared reference to 'mystery'"),
        (
            json!({"rule": "self.min == 'x'"}),
            "rule",
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (json!({"rule": "self.min"}), "rule", "must evaluate to a bool"),
        (
            json!({"rule": "true", "messageExpression": "self.min"}),
            "messageExpression",
            "must evaluate to a string",
        ),
        (
            json!({"rule": "true", "fieldPath": ".nope"}),
            "fieldPath",
            "does not refer to a valid field",
        ),
        (json!({"rule": "true", "reason": "Whim"}), "reason", "Unsupported value: \"Whim\""),
    ] {
        let reply = ctx.post(CRDS, &ruled(ctx, &range(), &json!([rule]))).await?;
        let status = reply.refused(422, "Invalid", wording).with_context(|| rule.to_string())?;
        let place = format!("{below}.{field}");
        let found = causes(&status).iter().any(|cause| cause["field"] == place.as_str());
        ensure!(found, "{rule}: {status}");
    }
    let list = json!({"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 9,
        "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}});
    let crd = ruled(ctx, &json!({"list": list}), &json!([]));
    let reply = ctx.post(CRDS, &crd).await?;
    reply.refused(
        422,
        "Invalid",
        "oldSelf cannot be used on the uncorrelatable portion of the schema",
    )?;
    Ok(())
}

/// The version a client speaks judges, too.
async fn rules_in_every_version(ctx: &Ctx) -> Result<()> {
    let mut crd = widgets(ctx, &range());
    let mut other = crd["spec"]["versions"][0].clone();
    other["name"] = "v1beta1".into();
    other["storage"] = false.into();
    other["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] =
        json!([{"rule": "self.min > 0", "message": "beta wants more"}]);
    crd["spec"]["versions"].as_array_mut().context("versions")?.push(other);
    let path = install(ctx, &crd).await?;
    ctx.post(&path, &widget(ctx, "stable", &json!({"min": 0}))).await?.created()?;
    let beta = path.replace("/v1/", "/v1beta1/");
    let mut object = widget(ctx, "beta", &json!({"min": 0}));
    object["apiVersion"] = format!("{}/v1beta1", group(ctx)).into();
    ctx.post(&beta, &object).await?.refused(422, "Invalid", "beta wants more")?;
    Ok(())
}

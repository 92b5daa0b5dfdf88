//! What a CRD's schema does to its objects: pruning, defaults, validation.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::cases;
use super::crds::{group, install, widget, widgets};
use super::forms::{check_table, columns};
use crate::ctx::{Ctx, TABLE};
use crate::reply::{causes, names, text};

cases![
    pruning,
    strict_fields,
    defaults,
    nulls,
    validation,
    validation_of_updates,
    int_or_string,
    lists,
    printer_columns,
    default_columns,
    selectable_fields,
];

async fn pruning(ctx: &Ctx) -> Result<()> {
    let properties = json!({
        "known": {"type": "string"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"inner": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    });
    let path = install(ctx, &widgets(ctx, &properties)).await?;
    let spec = json!({
        "known": "a", "unknown": 1,
        "free": {"any": {"thing": [1]}, "inner": {"a": "b", "unknown": 2}},
        "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"b": 1}},
    });
    let mut object = widget(ctx, "pruned", &spec);
    object["stray"] = "x".into();
    let reply = ctx.post(&path, &object).await?;
    let created = reply.created()?;
    let expected = json!({
        "known": "a",
        "free": {"any": {"thing": [1]}, "inner": {"a": "b"}},
        "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"b": 1}},
    });
    ensure!(created["spec"] == expected, "{created}");
    ensure!(created["stray"].is_null(), "{created}");
    let warned = reply.warnings().iter().any(|w| w.contains(r#"unknown field \"spec.unknown\""#));
    ensure!(warned, "{:?}", reply.warnings());
    ensure!(ctx.get(&format!("{path}/pruned")).await?.ok()? == created, "as answered");
    Ok(())
}

async fn strict_fields(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({"known": {"type": "string"}}))).await?;
    let strict = format!("{path}?fieldValidation=Strict");
    let object = widget(ctx, "strict", &json!({"known": "a", "unknown": 1, "other": {}}));
    let reply = ctx.post(&strict, &object).await?;
    for part in [
        "strict decoding error: ",
        "unknown field \"spec.unknown\"",
        "unknown field \"spec.other\"",
    ] {
        reply.refused(400, "BadRequest", part)?;
    }
    Ok(())
}

async fn defaults(ctx: &Ctx) -> Result<()> {
    let properties = json!({
        "size": {"type": "integer", "default": 3},
        "shape": {"type": "object", "default": {}, "properties": {"round": {"type": "boolean", "default": true}}},
        "parts": {"type": "array", "items": {"type": "object", "properties": {"count": {"type": "integer", "default": 1}}}},
        "plain": {"type": "object", "properties": {"inner": {"type": "string", "default": "x"}}},
    });
    let path = install(ctx, &widgets(ctx, &properties)).await?;
    let created = ctx
        .post(&path, &widget(ctx, "filled", &json!({"parts": [{}, {"count": 5}]})))
        .await?
        .created()?;
    let expected =
        json!({"size": 3, "shape": {"round": true}, "parts": [{"count": 1}, {"count": 5}]});
    ensure!(created["spec"] == expected, "no defaults below what is absent: {created}");
    let patched = ctx
        .merge(&format!("{path}/filled"), &json!({"spec": {"size": null, "plain": {}}}))
        .await?
        .ok()?;
    ensure!(patched["spec"]["size"] == 3 && patched["spec"]["plain"]["inner"] == "x", "{patched}");
    Ok(())
}

async fn nulls(ctx: &Ctx) -> Result<()> {
    let properties = json!({
        "nullable": {"type": "string", "nullable": true},
        "nullableDefault": {"type": "string", "nullable": true, "default": "x"},
        "default": {"type": "string", "default": "x"},
        "plain": {"type": "string"},
    });
    let path = install(ctx, &widgets(ctx, &properties)).await?;
    let spec = json!({"nullable": null, "nullableDefault": null, "default": null, "plain": null});
    let created = ctx.post(&path, &widget(ctx, "nulls", &spec)).await?.created()?;
    let expected = json!({"nullable": null, "nullableDefault": null, "default": "x"});
    ensure!(created["spec"] == expected, "{created}");
    Ok(())
}

fn rules() -> Value {
    json!({
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "name": {"type": "string", "maxLength": 5, "minLength": 2, "pattern": "^[a-z]+$"},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "parts": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "address": {"type": "string", "format": "ipv4"},
        "owner": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
    })
}

async fn validation(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &rules())).await?;
    for (spec, field, reason, wording) in [
        (
            json!({"size": 99}),
            "spec.size",
            "FieldValueInvalid",
            "spec.size: Invalid value: 99: spec.size in body should be less than or equal to 10",
        ),
        (
            json!({"size": 0}),
            "spec.size",
            "FieldValueInvalid",
            "spec.size in body should be greater than or equal to 1",
        ),
        (
            json!({"size": "x"}),
            "spec.size",
            "FieldValueTypeInvalid",
            "must be of type integer: \"string\"",
        ),
        (json!({"size": 1.5}), "spec.size", "FieldValueTypeInvalid", "must be of type integer"),
        (json!({"name": "abcdef"}), "spec.name", "FieldValueTooLong", "spec.name: Too long"),
        (
            json!({"name": "AB"}),
            "spec.name",
            "FieldValueInvalid",
            "spec.name in body should match '^[a-z]+$'",
        ),
        (json!({"name": "a"}), "spec.name", "FieldValueInvalid", "should be at least 2 chars long"),
        (
            json!({"colour": "pink"}),
            "spec.colour",
            "FieldValueNotSupported",
            "spec.colour: Unsupported value: \"pink\": supported values: \"red\", \"green\"",
        ),
        (
            json!({"parts": ["a", "b", "c"]}),
            "spec.parts",
            "FieldValueTooMany",
            "spec.parts: Too many: 3: must have at most 2 items",
        ),
        (
            json!({"parts": ["a", 2]}),
            "spec.parts[1]",
            "FieldValueTypeInvalid",
            "must be of type string",
        ),
        (
            json!({"owner": {}}),
            "spec.owner.id",
            "FieldValueRequired",
            "spec.owner.id: Required value",
        ),
        (
            json!({"address": "here"}),
            "spec.address",
            "FieldValueTypeInvalid",
            "must be of type ipv4",
        ),
    ] {
        let reply = ctx.post(&path, &widget(ctx, "wrong", &spec)).await?;
        let status = reply.invalid(field, reason, wording).with_context(|| spec.to_string())?;
        let head = format!("Widget.{} \"wrong\" is invalid: ", group(ctx));
        ensure!(text(&status, "/message")?.starts_with(&head), "{status}");
        ensure!(status["details"]["group"] == group(ctx).as_str(), "{status}");
        ensure!(status["details"]["kind"] == "Widget", "{status}");
    }
    // All at once: one cause each.
    let spec = json!({"size": 99, "colour": "pink", "owner": {}});
    let status =
        ctx.post(&path, &widget(ctx, "wrong", &spec)).await?.refused(422, "Invalid", "[spec.")?;
    ensure!(causes(&status).len() == 3, "{status}");
    Ok(())
}

async fn validation_of_updates(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &rules())).await?;
    ctx.post(&path, &widget(ctx, "good", &json!({"size": 5}))).await?.created()?;
    let reply = ctx.merge(&format!("{path}/good"), &json!({"spec": {"size": 50}})).await?;
    reply.invalid("spec.size", "FieldValueInvalid", "should be less than or equal to 10")?;
    let stored = ctx.get(&format!("{path}/good")).await?.ok()?;
    ensure!(stored["spec"]["size"] == 5, "{stored}");
    Ok(())
}

async fn int_or_string(ctx: &Ctx) -> Result<()> {
    let path =
        install(ctx, &widgets(ctx, &json!({"port": {"x-kubernetes-int-or-string": true}}))).await?;
    for (name, value) in [("int", json!(8080)), ("string", json!("50%"))] {
        let created =
            ctx.post(&path, &widget(ctx, name, &json!({"port": value}))).await?.created()?;
        ensure!(created["spec"]["port"] == value, "{created}");
    }
    let reply = ctx.post(&path, &widget(ctx, "wrong", &json!({"port": true}))).await?;
    reply.refused(422, "Invalid", "spec.port")?;
    Ok(())
}

async fn lists(ctx: &Ctx) -> Result<()> {
    let properties = json!({
        "ports": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}},
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    });
    let path = install(ctx, &widgets(ctx, &properties)).await?;
    let spec = json!({"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]});
    let reply = ctx.post(&path, &widget(ctx, "twice", &spec)).await?;
    reply.invalid("spec.ports[1]", "FieldValueDuplicate", "spec.ports[1]: Duplicate value: ")?;
    let reply = ctx.post(&path, &widget(ctx, "twice", &json!({"tags": ["x", "y", "x"]}))).await?;
    reply.invalid("spec.tags[2]", "FieldValueDuplicate", "spec.tags[2]: Duplicate value: \"x\"")?;
    let spec = json!({"ports": [{"name": "a"}, {"name": "b"}], "tags": ["x", "y"]});
    ctx.post(&path, &widget(ctx, "once", &spec)).await?.created()?;
    Ok(())
}

async fn printer_columns(ctx: &Ctx) -> Result<()> {
    let mut crd = widgets(ctx, &json!({"size": {"type": "integer"}, "colour": {"type": "string"}}));
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How large"},
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    let path = install(ctx, &crd).await?;
    let mut object = widget(ctx, "shown", &json!({"size": 3, "colour": "red"}));
    object["status"] = json!({"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]});
    ctx.post(&path, &object).await?.created()?;
    ctx.post(&path, &widget(ctx, "z-empty", &json!({}))).await?.created()?;
    let table = ctx.get_as(&path, TABLE).await?.ok()?;
    let expected = [("Name", 0), ("Size", 0), ("Colour", 1), ("Ready", 0), ("Age", 0)];
    ensure!(columns(&table) == expected, "{:?}", columns(&table));
    ensure!(table["columnDefinitions"][1]["type"] == "integer", "{table}");
    ensure!(table["columnDefinitions"][1]["description"] == "How large", "{table}");
    let rows = check_table(&table, 2)?;
    let cells = rows[0]["cells"].as_array().context("cells")?;
    ensure!(cells[..4] == [json!("shown"), json!(3), json!("red"), json!("True")], "{cells:?}");
    ensure!(cells[4].as_str().is_some_and(|age| age.ends_with('s')), "{cells:?}");
    let cells = rows[1]["cells"].as_array().context("cells")?;
    ensure!(cells[1].is_null() && cells[2].is_null() && cells[3].is_null(), "{cells:?}");
    Ok(())
}

async fn default_columns(ctx: &Ctx) -> Result<()> {
    let path = install(ctx, &widgets(ctx, &json!({}))).await?;
    ctx.post(&path, &widget(ctx, "plain", &json!({}))).await?.created()?;
    let table = ctx.get_as(&format!("{path}/plain"), TABLE).await?.ok()?;
    ensure!(columns(&table) == [("Name", 0), ("Age", 0)], "{table}");
    ensure!(check_table(&table, 1)?[0]["cells"][0] == "plain", "{table}");
    Ok(())
}

async fn selectable_fields(ctx: &Ctx) -> Result<()> {
    let mut crd = widgets(ctx, &json!({"colour": {"type": "string"}, "size": {"type": "integer"}}));
    crd["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.colour"}]);
    let path = install(ctx, &crd).await?;
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        ctx.post(&path, &widget(ctx, name, &json!({"colour": colour}))).await?.created()?;
    }
    let list = ctx.get(&format!("{path}?fieldSelector=spec.colour%3Dred")).await?.ok()?;
    ensure!(names(&list) == ["a", "c"], "{list}");
    let reply = ctx.get(&format!("{path}?fieldSelector=spec.size%3D1")).await?;
    reply.refused(400, "BadRequest", "spec.size")?;
    let query = format!(
        "{path}?watch=true&fieldSelector=spec.colour%3Dblue&resourceVersion={}",
        crate::reply::version(&list)?
    );
    let mut watch = ctx.watch(&query).await?;
    ctx.merge(&format!("{path}/b"), &json!({"spec": {"colour": "green"}})).await?.ok()?;
    watch.expect("DELETED", "b").await?;
    Ok(())
}

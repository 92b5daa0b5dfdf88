//! Tables and metadata-only forms.

use anyhow::{Context as _, Result, ensure};
use http::Method;
use serde_json::{Value, json};

use super::cases;
use crate::ctx::{Ctx, TABLE};
use crate::reply::{names, version};

cases![
    table_of_one,
    table_of_many,
    wide_columns,
    include_object,
    table_watch,
    refusals_are_no_tables,
    partial,
    partial_list,
    partial_watch,
];

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// Column names with their priorities.
pub fn columns(table: &Value) -> Vec<(&str, i64)> {
    let list = table["columnDefinitions"].as_array().map_or(&[] as &[Value], Vec::as_slice);
    list.iter()
        .map(|c| (c["name"].as_str().unwrap_or_default(), c["priority"].as_i64().unwrap_or(-1)))
        .collect()
}

/// A Table with this many rows, each with a cell per column.
pub fn check_table(table: &Value, rows: usize) -> Result<&Vec<Value>> {
    ensure!(table["kind"] == "Table" && table["apiVersion"] == "meta.k8s.io/v1", "{table}");
    let found = table["rows"].as_array().context("rows")?;
    ensure!(found.len() == rows, "{rows} rows expected: {table}");
    Ok(found)
}

async fn table_of_one(ctx: &Ctx) -> Result<()> {
    let created = ctx.config_map("one", &json!({"a": "1", "b": "2"})).await?;
    let table = ctx.get_as(&format!("{}/one", ctx.core("configmaps")), TABLE).await?.ok()?;
    ensure!(columns(&table) == [("Name", 0), ("Data", 0), ("Age", 0)], "{table}");
    let name = &table["columnDefinitions"][0];
    ensure!(name["type"] == "string" && name["format"] == "name", "{name}");
    let rows = check_table(&table, 1)?;
    ensure!(rows[0]["cells"][0] == "one" && rows[0]["cells"][1] == 2, "{table}");
    let age = rows[0]["cells"][2].as_str().context("the age is text")?;
    ensure!(age.ends_with('s') || age.ends_with('m'), "{age}");
    let object = &rows[0]["object"];
    ensure!(object["kind"] == "PartialObjectMetadata", "{object}");
    ensure!(object["apiVersion"] == "meta.k8s.io/v1", "{object}");
    ensure!(object["metadata"] == created["metadata"], "{object}");
    Ok(())
}

async fn table_of_many(ctx: &Ctx) -> Result<()> {
    for name in ["a", "b"] {
        ctx.config_map(name, &json!({})).await?;
    }
    let path =
        format!("{}?fieldSelector=metadata.name!%3Dkube-root-ca.crt", ctx.core("configmaps"));
    let table = ctx.get_as(&path, TABLE).await?.ok()?;
    let rows = check_table(&table, 2)?;
    ensure!(rows[0]["cells"][0] == "a" && rows[1]["cells"][0] == "b", "{table}");
    version(&table)?;
    // As kubectl asks: newest form first, plain JSON as a last resort.
    let wishes =
        format!("{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json");
    check_table(&ctx.get_as(&path, &wishes).await?.ok()?, 2)?;
    Ok(())
}

async fn wide_columns(ctx: &Ctx) -> Result<()> {
    let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81, "protocol": "UDP"}]);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "wide"},
        "spec": {"clusterIP": "None", "selector": {"app": "x"}, "ports": ports},
    });
    ctx.post(&ctx.core("services"), &service).await?.created()?;
    let table = ctx.get_as(&format!("{}/wide", ctx.core("services")), TABLE).await?.ok()?;
    let expected = [
        ("Name", 0),
        ("Type", 0),
        ("Cluster-IP", 0),
        ("External-IP", 0),
        ("Port(s)", 0),
        ("Age", 0),
        ("Selector", 1),
    ];
    ensure!(columns(&table) == expected, "{:?}", columns(&table));
    let cells = &check_table(&table, 1)?[0]["cells"];
    for (index, expected) in [
        (0, "wide"),
        (1, "ClusterIP"),
        (2, "None"),
        (3, "<none>"),
        (4, "80/TCP,81/UDP"),
        (6, "app=x"),
    ] {
        ensure!(cells[index] == expected, "column {index}: {cells}");
    }
    Ok(())
}

async fn include_object(ctx: &Ctx) -> Result<()> {
    let created = ctx.config_map("inside", &json!({"a": "b"})).await?;
    let path = format!("{}/inside", ctx.core("configmaps"));
    let table = ctx.get_as(&format!("{path}?includeObject=Object"), TABLE).await?.ok()?;
    ensure!(check_table(&table, 1)?[0]["object"] == created, "{table}");
    let table = ctx.get_as(&format!("{path}?includeObject=None"), TABLE).await?.ok()?;
    ensure!(check_table(&table, 1)?[0]["object"].is_null(), "{table}");
    let reply = ctx.get_as(&format!("{path}?includeObject=Some"), TABLE).await?;
    ensure!(matches!(reply.code, 400 | 422), "{reply:?}");
    Ok(())
}

async fn table_watch(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let start = ctx.get(&path).await?.ok()?;
    let query =
        format!("{path}?watch=true&resourceVersion={}&labelSelector=shown", version(&start)?);
    let mut watch = ctx.call(Method::GET, &query).accept(TABLE).watch().await?;
    for name in ["first", "second"] {
        let mut object = crate::ctx::config_map(name, &json!({"a": "b"}));
        object["metadata"]["labels"] = json!({"shown": "yes"});
        ctx.post(&path, &object).await?.created()?;
    }
    for name in ["first", "second"] {
        let (kind, table) = watch.next().await?;
        ensure!(kind == "ADDED", "{kind} {table}");
        let rows = check_table(&table, 1)?;
        ensure!(rows[0]["cells"][0] == name, "{table}");
        ensure!(rows[0]["object"]["metadata"]["name"] == name, "{table}");
        let found = table["columnDefinitions"].as_array().map_or(0, Vec::len);
        // Headings come with the first row; whether they come again is up to the server.
        ensure!(found == 3 || (found == 0 && name != "first"), "{table}");
    }
    Ok(())
}

async fn refusals_are_no_tables(ctx: &Ctx) -> Result<()> {
    let reply = ctx.get_as(&format!("{}/absent", ctx.core("configmaps")), TABLE).await?;
    reply.refused(404, "NotFound", "configmaps \"absent\" not found")?;
    Ok(())
}

async fn partial(ctx: &Ctx) -> Result<()> {
    let created = ctx.config_map("thin", &json!({"a": "b"})).await?;
    let object = ctx.get_as(&format!("{}/thin", ctx.core("configmaps")), PARTIAL).await?.ok()?;
    let expected = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"],
    });
    ensure!(object == expected, "{object}");
    Ok(())
}

async fn partial_list(ctx: &Ctx) -> Result<()> {
    ctx.config_map("thin", &json!({"a": "b"})).await?;
    let list = ctx.get_as(&ctx.core("configmaps"), PARTIAL_LIST).await?.ok()?;
    ensure!(list["kind"] == "PartialObjectMetadataList", "{list}");
    ensure!(list["apiVersion"] == "meta.k8s.io/v1", "{list}");
    ensure!(names(&list).contains(&"thin"), "{list}");
    version(&list)?;
    let items = list["items"].as_array().context("items")?;
    ensure!(items.iter().all(|item| item["data"].is_null()), "{list}");
    Ok(())
}

async fn partial_watch(ctx: &Ctx) -> Result<()> {
    let path = ctx.core("configmaps");
    let start = ctx.get(&path).await?.ok()?;
    let query = format!(
        "{path}?watch=true&fieldSelector=metadata.name%3Dthin&resourceVersion={}",
        version(&start)?
    );
    let mut watch = ctx.call(Method::GET, &query).accept(PARTIAL).watch().await?;
    ctx.config_map("thin", &json!({"a": "b"})).await?;
    let object = watch.expect("ADDED", "thin").await?;
    ensure!(object["kind"] == "PartialObjectMetadata" && object["data"].is_null(), "{object}");
    Ok(())
}

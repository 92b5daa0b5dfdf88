//! From a path to what is done.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::assign::{self, Deed};
use super::entities::{DOMAIN, ENTITIES, GROUPS, PROJECT, PROJECTS, ROLE, ROLES, USER, USERS};
use super::entity::{Entity, collection, own_link};
use super::refusal::Refusal;
use super::{credentials, login, members, password, show, token};
use crate::caller::{Caller, Scope};
use crate::object::Object;
use crate::request::{Request, Response, Service};
use crate::state::Tx;

type Answer = Result<Response, Refusal>;

/// Answers a call.
pub fn handle(tx: &mut Tx<'_>, request: &Request) -> Response {
    let parts = request.parts();
    let answer = match (&request.method, parts.as_slice()) {
        (&Method::GET | &Method::HEAD, []) => Ok(versions(request)),
        (&Method::GET | &Method::HEAD, ["v3"]) => {
            Ok(Response::json(StatusCode::OK, &json!({"version": version(request)})))
        }
        (&Method::POST, ["v3", "auth", "tokens"]) => login::login(tx, request),
        (_, ["v3", rest @ ..]) => signed_in(tx, request, rest),
        _ => Err(Refusal::no_path()),
    };
    let mut answer = answer.unwrap_or_else(|refusal| refusal.response());
    if answer.header("vary").is_none() {
        answer = answer.with("vary", "X-Auth-Token");
    }
    if answer.status != StatusCode::UNAUTHORIZED {
        return answer;
    }
    let root = tx.config.endpoints.get(&Service::Identity).map_or("", String::as_str);
    answer.with("www-authenticate", format!("Keystone uri=\"{root}/v3\""))
}

fn version(request: &Request) -> Value {
    json!({
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{}/v3/", request.base)}],
        "media-types": [{
            "base": "application/json",
            "type": "application/vnd.openstack.identity-v3+json",
        }],
    })
}

fn versions(request: &Request) -> Response {
    let body = json!({"versions": {"values": [version(request)]}});
    Response::json(StatusCode::MULTIPLE_CHOICES, &body)
        .with("location", format!("{}/v3/", request.base))
}

#[allow(clippy::unnecessary_wraps)] // every answer has one type, though these do not fail
fn ok(body: &Value) -> Answer {
    Ok(Response::json(StatusCode::OK, body))
}

#[allow(clippy::unnecessary_wraps)] // as above
fn done() -> Answer {
    Ok(Response::empty(StatusCode::NO_CONTENT))
}

fn signed_in(tx: &mut Tx<'_>, request: &Request, rest: &[&str]) -> Answer {
    let given = request.header_text("x-auth-token");
    let who =
        given.and_then(|text| token::check(tx, tx.now, text)).ok_or_else(Refusal::unauthorized)?;
    match rest {
        ["auth", rest @ ..] => auth(tx, &who, request, rest),
        ["users", id, "application_credentials", rest @ ..] => {
            application_credentials(tx, &who, request, id, rest)
        }
        ["users", id, "password"] if request.method == Method::POST => {
            change_password(tx, &who, request, id)
        }
        ["users", id, what @ ("projects" | "groups")] if request.method == Method::GET => {
            if who.user.id != *id {
                admin(&who, &format!("identity:list_user_{what}"))?;
            }
            USERS.get(tx, id)?;
            of_user(tx, request, id, what)
        }
        ["groups", id, "users", rest @ ..] => {
            admin(&who, "identity:list_users_in_group")?;
            group_users(tx, request, id, rest)
        }
        ["role_assignments"] if request.method == Method::GET => {
            admin(&who, "identity:list_role_assignments")?;
            let all = assign::all(tx, request);
            ok(&collection(request, "role_assignments", &all))
        }
        ["role_inferences"] if request.method == Method::GET => inferences(tx, request),
        ["system", actors @ ("users" | "groups"), actor, "roles", rest @ ..] => {
            admin(&who, &grant_action(request, rest))?;
            grants(tx, request, &actor_key(actors, actor), "system/all", rest)
        }
        [
            scopes @ ("projects" | "domains"),
            target,
            actors @ ("users" | "groups"),
            actor,
            "roles",
            rest @ ..,
        ] => {
            admin(&who, &grant_action(request, rest))?;
            let target = format!("{}/{target}", scopes.trim_end_matches('s'));
            grants(tx, request, &actor_key(actors, actor), &target, rest)
        }
        [plural, rest @ ..] => {
            let entity = ENTITIES.iter().find(|entity| entity.plural == *plural);
            entities(tx, &who, request, entity.ok_or_else(Refusal::no_path)?, rest)
        }
        [] => Err(Refusal::no_path()),
    }
}

fn actor_key(actors: &str, id: &str) -> String {
    format!("{}/{id}", actors.trim_end_matches('s'))
}

/// What the policy calls it.
fn grant_action(request: &Request, rest: &[&str]) -> String {
    let verb = match (&request.method, rest) {
        (&Method::PUT, _) => "create_grant",
        (&Method::DELETE, _) => "revoke_grant",
        (_, []) => "list_grants",
        _ => "check_grant",
    };
    format!("identity:{verb}")
}

fn admin(who: &Caller, action: &str) -> Result<(), Refusal> {
    if who.is_admin() { Ok(()) } else { Err(Refusal::forbidden(action)) }
}

fn entities(
    tx: &mut Tx<'_>,
    who: &Caller,
    request: &Request,
    entity: &'static Entity,
    rest: &[&str],
) -> Answer {
    let action = |verb: &str| format!("identity:{verb}_{}", entity.single);
    let shown = |object: Object| json!({ entity.single: entity.show(request, object) });
    match (&request.method, rest) {
        (&Method::GET, []) => {
            // Regions are no secret; everything else is the administrator's.
            if entity.single != "region" {
                admin(who, &format!("identity:list_{}", entity.plural))?;
            }
            ok(&entity.show_all(request, entity.list(tx, request)))
        }
        (&Method::GET | &Method::HEAD, [id]) => {
            let own = match entity.single {
                "user" => who.user.id == *id,
                "project" => who.project() == *id,
                "domain" => who.user.domain_id == *id,
                "region" => true,
                _ => false,
            };
            if !own {
                admin(who, &action("get"))?;
            }
            ok(&shown(entity.get(tx, id)?))
        }
        (&Method::POST, []) => {
            admin(who, &action("create"))?;
            let object = entity.create(tx, request)?;
            Ok(Response::json(StatusCode::CREATED, &shown(object)))
        }
        // A region can be made with an id of the client's choice.
        (&Method::PUT, [id]) if entity.single == "region" && !tx.exists(entity.kind, id) => {
            admin(who, &action("create"))?;
            let made = json!({"id": id, "description": "", "parent_region_id": null});
            let object = entity.insert(tx, Object::from_value(made))?;
            Ok(Response::json(StatusCode::CREATED, &shown(object)))
        }
        (&Method::PATCH, [id]) => {
            admin(who, &action("update"))?;
            let object = entity.update(tx, id, request)?;
            let extra = extra(entity, &object);
            let mut body = shown(object);
            if let (Some(extra), Some(map)) =
                (extra, body.get_mut(entity.single).and_then(Value::as_object_mut))
            {
                map.insert("extra".to_owned(), extra);
            }
            ok(&body)
        }
        (&Method::DELETE, [id]) => {
            admin(who, &action("delete"))?;
            entity.delete(tx, id)?;
            done()
        }
        (_, [] | [_]) => Err(Refusal::method()),
        _ => Err(Refusal::no_path()),
    }
}

/// What Keystone keeps without knowing it is shown twice in the answer to an update.
fn extra(entity: &Entity, object: &Object) -> Option<Value> {
    match entity.single {
        "project" => Some(json!({})),
        "user" => {
            let known = ["description", "email"].into_iter().filter(|name| object.has(name));
            let known = known.map(|name| (name.to_owned(), object.get(name).clone()));
            Some(Value::Object(known.collect()))
        }
        _ => None,
    }
}

fn auth(tx: &mut Tx<'_>, who: &Caller, request: &Request, rest: &[&str]) -> Answer {
    match (&request.method, rest) {
        (method, ["tokens"]) => {
            let none = || Refusal::no_token("No token in the request");
            let text = request.header_text("x-subject-token").ok_or_else(none)?;
            let subject = token::check(tx, tx.now, text).ok_or_else(|| token::refused(tx, text))?;
            let own = subject.user.id == who.user.id;
            if !own && !who.is_admin() && !who.has_role("service") {
                return Err(Refusal::forbidden("identity:validate_token"));
            }
            match *method {
                Method::GET | Method::HEAD => {
                    let catalogue = !request.query.iter().any(|(name, _)| name == "nocatalog");
                    let body = show::token(tx, &subject, catalogue);
                    Ok(Response::json(StatusCode::OK, &body).with("x-subject-token", text))
                }
                Method::DELETE => {
                    token::revoke(tx, &subject);
                    done()
                }
                _ => Err(Refusal::method()),
            }
        }
        (&Method::GET, ["catalog"]) => {
            let link = format!("{}/v3/auth/catalog", request.base);
            ok(&json!({"catalog": show::catalogue(tx, who), "links": {"self": link}}))
        }
        (&Method::GET, ["projects"]) => of_user(tx, request, &who.user.id, "projects"),
        (&Method::GET, ["domains"]) => {
            let held = targets(tx, &who.user.id, "domain");
            let all: Vec<Object> = held.iter().filter_map(|id| tx.get(&DOMAIN, id)).collect();
            ok(&super::entities::DOMAINS.show_all(request, all))
        }
        (&Method::GET, ["system"]) => {
            let held = !targets(tx, &who.user.id, "system").is_empty();
            let system = if held { json!([{"all": true}]) } else { json!([]) };
            ok(&json!({"system": system, "links": {"self": own_link(request)}}))
        }
        (_, ["catalog" | "projects" | "domains" | "system"]) => Err(Refusal::method()),
        _ => Err(Refusal::no_path()),
    }
}

/// The ids of the projects, or domains, in which a user has a role.
fn targets(tx: &Tx<'_>, user: &str, kind: &str) -> Vec<String> {
    let mut actors = vec![format!("user/{user}")];
    actors.extend(members::groups_of(tx, user).map(|group| format!("group/{group}")));
    let rows = actors
        .iter()
        .flat_map(|actor| tx.find(&assign::ASSIGNMENT, "actor", actor).collect::<Vec<_>>());
    let mut held: Vec<String> = rows
        .filter_map(|row| {
            let (of, id) = row.text("target").split_once('/')?;
            (of == kind).then(|| id.to_owned())
        })
        .collect();
    held.sort_unstable();
    held.dedup();
    held
}

#[allow(clippy::unnecessary_wraps)] // as above
fn of_user(tx: &Tx<'_>, request: &Request, user: &str, what: &str) -> Answer {
    if what == "groups" {
        let all = members::groups_of(tx, user);
        let all: Vec<Object> = all.filter_map(|id| tx.get(GROUPS.kind, &id)).collect();
        return ok(&GROUPS.show_all(request, all));
    }
    let held = targets(tx, user, "project");
    let all: Vec<Object> = held.iter().filter_map(|id| tx.get(&PROJECT, id)).collect();
    ok(&PROJECTS.show_all(request, all))
}

fn group_users(tx: &mut Tx<'_>, request: &Request, group: &str, rest: &[&str]) -> Answer {
    GROUPS.get(tx, group)?;
    match (&request.method, rest) {
        (&Method::GET, []) => {
            let all: Vec<Object> =
                members::users_of(tx, group).filter_map(|id| tx.get(&USER, &id)).collect();
            ok(&USERS.show_all(request, all))
        }
        (method, [user]) => {
            USERS.get(tx, user)?;
            let there = members::is_in(tx, user, group);
            match *method {
                Method::PUT => members::join(tx, user, group),
                Method::HEAD | Method::DELETE if !there => {
                    return Err(Refusal::missing("user in group", user));
                }
                Method::HEAD => {}
                Method::DELETE => members::leave(tx, user, group),
                _ => return Err(Refusal::method()),
            }
            done()
        }
        _ => Err(Refusal::no_path()),
    }
}

fn grants(tx: &mut Tx<'_>, request: &Request, actor: &str, target: &str, rest: &[&str]) -> Answer {
    match (&request.method, rest) {
        (&Method::GET, []) => {
            let roles = assign::list(tx, actor, target)?;
            ok(&ROLES.show_all(request, roles))
        }
        (method, [role]) => {
            let deed = match *method {
                Method::PUT => Deed::Give,
                Method::HEAD | Method::GET => Deed::Look,
                Method::DELETE => Deed::Take,
                _ => return Err(Refusal::method()),
            };
            assign::one(tx, &deed, actor, target, role)?;
            done()
        }
        _ => Err(Refusal::no_path()),
    }
}

#[allow(clippy::unnecessary_wraps)] // as above
fn inferences(tx: &Tx<'_>, request: &Request) -> Answer {
    let short = |role: &Object| json!({"id": role.id(), "name": role.text("name")});
    let one = |role: Object| {
        let implied: Vec<Value> =
            role.texts("implies").filter_map(|id| tx.get(&ROLE, id)).map(|r| short(&r)).collect();
        (!implied.is_empty()).then(|| json!({"prior_role": short(&role), "implies": implied}))
    };
    let all: Vec<Value> = tx.all(&ROLE).filter_map(one).collect();
    ok(&collection(request, "role_inferences", &all.into()))
}

fn application_credentials(
    tx: &mut Tx<'_>,
    who: &Caller,
    request: &Request,
    user: &str,
    rest: &[&str],
) -> Answer {
    let own = who.user.id == user;
    let allowed = |action: &str| {
        if own || who.is_admin() { Ok(()) } else { Err(Refusal::forbidden(action)) }
    };
    match (&request.method, rest) {
        (&Method::GET, []) => {
            allowed("identity:list_application_credentials")?;
            ok(&credentials::list(tx, request, user))
        }
        (&Method::POST, []) => {
            if !own || who.scope == Scope::Unscoped {
                return Err(Refusal::forbidden("identity:create_application_credential"));
            }
            let body = credentials::create(tx, who, request)?;
            Ok(Response::json(StatusCode::CREATED, &body))
        }
        (&Method::GET, [id]) => {
            allowed("identity:get_application_credential")?;
            let credential = credentials::own(tx, user, id)?;
            ok(&json!({
                "application_credential": credentials::show(tx, request, credential, None),
            }))
        }
        (&Method::DELETE, [id]) => {
            allowed("identity:delete_application_credential")?;
            credentials::own(tx, user, id)?;
            tx.delete(&credentials::APPLICATION_CREDENTIAL, id);
            done()
        }
        (_, [] | [_]) => Err(Refusal::method()),
        _ => Err(Refusal::no_path()),
    }
}

fn change_password(tx: &mut Tx<'_>, who: &Caller, request: &Request, id: &str) -> Answer {
    if who.user.id != id {
        return Err(Refusal::forbidden("identity:change_password"));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| Refusal::bad("The request body is not valid JSON"))?;
    let text = |name: &str| body.get("user")?.get(name)?.as_str().map(str::to_owned);
    let (Some(old), Some(new)) = (text("original_password"), text("password")) else {
        return Err(Refusal::bad("Expecting to find original_password and password in user."));
    };
    let mut user = USERS.get(tx, id)?;
    if !password::matches(user.some_text("password"), &old) {
        return Err(Refusal::unauthorized());
    }
    let rounds = tx.config.password_rounds;
    user.set("password", password::hash(tx.chance, rounds, &new));
    tx.put(&USER, user);
    token::revoke_all(tx, id);
    done()
}

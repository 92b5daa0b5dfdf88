//! What may be asked about a log, in upstream's words.

use landbridge_machinery::field::{FieldError, FieldPath};
use landbridge_machinery::gvk::GroupKind;
use landbridge_machinery::status::{ApiError, ApiResult};

use super::parameter;

/// Refuses numbers that make no sense, before a node has to.
pub fn check(parameters: &[(&str, &str)]) -> ApiResult<()> {
    let mut errors = Vec::new();
    for (field, least, why) in [
        ("tailLines", 0, "must be greater than or equal to 0"),
        ("limitBytes", 1, "must be greater than 0"),
        ("sinceSeconds", 1, "must be greater than 0"),
    ] {
        let Some(text) = parameter(parameters, field) else { continue };
        match text.parse::<i64>() {
            Ok(number) if number >= least => {}
            Ok(number) => errors.push(FieldError::invalid(&FieldPath::new(field), number, why)),
            Err(_) => {
                let why =
                    format!("invalid query parameter {field}={text:?}: not a number in range");
                return Err(ApiError::bad_request(why));
            }
        }
    }
    let given = |name| parameters.iter().any(|(key, _)| *key == name);
    if given("sinceSeconds") && given("sinceTime") {
        let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        errors.push(FieldError::forbidden(&FieldPath::new("sinceSeconds"), why));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(&GroupKind::new("", "PodLogOptions"), "", &errors))
}

#[cfg(test)]
mod tests {
    use super::super::parameters;
    use super::*;

    #[test]
    fn numbers_are_judged() {
        let table = [
            ("follow=true&tailLines=0&limitBytes=1&sinceSeconds=1", None),
            ("tailLines=-1", Some(422)),
            ("limitBytes=0", Some(422)),
            ("sinceSeconds=0", Some(422)),
            ("sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", Some(422)),
            ("tailLines=x", Some(400)),
        ];
        for (query, code) in table {
            assert_eq!(check(&parameters(query)).err().map(|e| e.code), code, "{query}");
        }
    }
}

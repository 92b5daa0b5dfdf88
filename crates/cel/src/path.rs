//! `fieldPath` of a rule: a JSON path of fields and map keys, no more.

use landbridge_machinery::field::FieldPath;
use landbridge_machinery::schema::NodeRef;

/// The path below `node`, or what is wrong with it.
pub fn parse(mut rest: &str, mut node: NodeRef<'_>) -> Result<FieldPath, String> {
    let mut path = FieldPath::root();
    while !rest.is_empty() {
        let name: String;
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            if end == 0 {
                return Err("unexpected end of JSON path".to_owned());
            }
            name = after[..end].to_owned();
            rest = &after[end..];
        } else if let Some(after) = rest.strip_prefix('[') {
            let quoted = after.strip_prefix('\'').ok_or_else(|| {
                let end = after.find(']').unwrap_or(after.len());
                format!("expected single quoted string but got {}", &after[..end])
            })?;
            let end = quoted.find("']").ok_or("unexpected end of JSON path")?;
            name = quoted[..end].replace("\\'", "'").replace("\\\\", "\\");
            rest = &quoted[end + 2..];
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            return Err(format!("expected [ or . but got: {}", &rest[..end]));
        }
        let declared = node.property(&name);
        path = if declared.is_some() || node.additional().is_none() {
            path.child(&name)
        } else {
            path.key(&name)
        };
        node = declared.or_else(|| node.additional()).ok_or("does not refer to a valid field")?;
    }
    Ok(path)
}

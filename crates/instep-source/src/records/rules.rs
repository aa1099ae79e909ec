//! A short text for the operator's rules for entries: another one renews the Resource List.

use crate::SetOptions;

/// Returns a text that differs for different rules, and is the same in every version of the program; empty without
/// rules.
pub(crate) fn rules_id(set: &SetOptions, versions: bool) -> String {
    let links = set.links.iter().map(|rule| {
        let media_type = rule.media_type.as_ref().map(|it| it.as_str());
        serde_json::json!(["link", rule.resource, rule.rel.as_str(), rule.target, media_type, rule.pri])
    });
    let frequencies = set.frequencies.iter().map(|rule| {
        serde_json::json!(["frequency", rule.resource, rule.frequency.map(|frequency| frequency.as_str())])
    });
    let codings = set.codings.iter().map(|rule| serde_json::json!(["coding", rule.resource, rule.coding]));
    let generics = set
        .generics
        .iter()
        .map(|rule| serde_json::json!(["generic", rule.generic, rule.specific, rule.default]));
    let versions = versions.then(|| serde_json::json!(["versions"]));
    let rules: Vec<_> = links.chain(frequencies).chain(codings).chain(generics).chain(versions).collect();
    if rules.is_empty() {
        return String::new();
    }
    let text = serde_json::Value::Array(rules).to_string();
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use resourcesync::Relation;

    use super::rules_id;
    use crate::{LinkRule, SetOptions};

    #[test]
    fn equal_rules_have_the_same_id_in_every_version() {
        let mut set = SetOptions::new();
        assert_eq!(rules_id(&set, false), "");
        set.links.push(LinkRule::new("*.pdf", Relation::DescribedBy, "*.xml"));
        let one = rules_id(&set, false);
        // A released version wrote this text: another one here would renew every Resource List.
        assert_eq!(one, "8b8bc827a07a4a7e");
        assert_ne!(rules_id(&set, true), one);
        set.links[0].pri = Some(1);
        assert_ne!(rules_id(&set, false), one);
    }
}

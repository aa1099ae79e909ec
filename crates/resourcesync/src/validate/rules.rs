//! The table of rules.

use std::sync::OnceLock;

use crate::finding::Severity;

/// One requirement of the standard or its companions, or one that follows from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The id: `RL-3`.
    pub id: &'static str,
    /// The parties that must follow it: S a Source, D a Destination, A an aggregator, H a hub; V is a consistency
    /// check.
    pub who: &'static str,
    /// The strength of its wording.
    pub level: Level,
    /// `true` if no single sentence states it, but several together do.
    pub derived: bool,
    /// The clause that states it; empty if none does.
    pub clause: &'static str,
    /// The requirement.
    pub requirement: &'static str,
    /// The way it is checked; empty if the requirement is enough.
    pub check: &'static str,
}

/// The strength of a rule's wording.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// An option.
    May,
    /// A recommendation.
    Should,
    /// An obligation.
    Must,
}

impl Rule {
    /// Returns every rule, in the order of the table.
    pub fn all() -> &'static [Self] {
        static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
        RULES.get_or_init(|| include_str!("rules.tsv").lines().filter_map(parse).collect())
    }

    /// Returns the rule with an id, in upper or lower case.
    ///
    /// ```
    /// use resourcesync::validate::Rule;
    /// assert_eq!(Rule::find("rl-3").unwrap().clause, "§10.1");
    /// assert!(Rule::find("no-rule").is_none());
    /// ```
    pub fn find(id: &str) -> Option<&'static Self> {
        Self::all().iter().find(|rule| rule.id.eq_ignore_ascii_case(id.trim()))
    }

    /// Returns the weight of a finding about this rule: *must* is an error, *should* a warning, *may* an info; a
    /// derived rule weighs one less.
    pub fn severity(&self) -> Severity {
        match (self.level, self.derived) {
            (Level::Must, false) => Severity::Error,
            (Level::Must, true) | (Level::Should, false) => Severity::Warning,
            (Level::Should, true) | (Level::May, _) => Severity::Info,
        }
    }
}

fn parse(line: &'static str) -> Option<Rule> {
    let mut columns = line.split('\t');
    let mut column = || columns.next();
    Some(Rule {
        id: column()?,
        who: column()?,
        level: match column()? {
            "must" => Level::Must,
            "should" => Level::Should,
            _ => Level::May,
        },
        derived: column()? == "derived",
        clause: column()?,
        requirement: column()?,
        check: column()?,
    })
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn the_catalogue_is_whole() {
        assert_eq!(Rule::all().len(), 300);
        assert!(Rule::all().iter().all(|rule| !rule.requirement.is_empty()));
    }
}

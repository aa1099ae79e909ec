//! Ids that comments, tests and documents cite: each is in the table it belongs to, so a reader can look it up.

use std::collections::BTreeSet;

use crate::sources::{files, root};

/// Documents whose tables list threats, findings and open questions.
const TABLES: [&str; 3] = ["docs/threats.md", "docs/findings.md", "docs/ambiguities.md"];

/// Areas of the rules of the standard, as `rules.tsv` begins them; anything else with a hyphen is no rule.
fn rules() -> BTreeSet<String> {
    let table = std::fs::read_to_string(root().join("crates/resourcesync/src/validate/rules.tsv")).unwrap();
    table.lines().filter_map(|line| line.split('\t').next().map(str::to_owned)).collect()
}

/// Returns the ids in the first column of the tables of a document, in their order.
fn first_column(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.map(|cell| cell.trim().trim_matches('`').to_owned()).filter(|cell| is_id(cell)).collect()
}

/// Returns `true` for a capital letter and a number of at most four digits: a threat or a finding.
fn is_numbered(word: &str) -> bool {
    let number =
        word.strip_prefix(|c: char| matches!(c, 'A' | 'B' | 'C' | 'D' | 'O' | 'P' | 'R' | 'S' | 'W'));
    number.is_some_and(|number| (1..=4).contains(&number.len()) && number.bytes().all(|c| c.is_ascii_digit()))
}

/// Returns `true` for the id of a threat or a finding, or of a question that the standard leaves open.
fn is_id(word: &str) -> bool {
    is_numbered(word.strip_prefix("AMB-").unwrap_or(word))
}

/// Returns the comment of a line of Rust.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("//").or_else(|| line.split_once(" // ").map(|(_, comment)| comment))
}

/// Returns the words of a text, hyphens included.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')
}

/// Returns the rules that a text cites: `RL-2`, for an area that the table has.
fn cited_rules<'t>(text: &'t str, areas: &BTreeSet<&str>) -> Vec<&'t str> {
    let is_rule = |word: &&str| {
        word.split_once('-').is_some_and(|(area, number)| {
            areas.contains(area) && !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
        })
    };
    words(text).filter(is_rule).collect()
}

/// Returns the name of the function that begins on a line. Tests of a contract are seen by the list of them above.
fn name_of_function(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(super) ").unwrap_or(line);
    let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "))?;
    name.split('(').next()
}

/// Returns the id that the name of a test begins with: `d35_an_empty_list_deletes_nothing` is D35.
fn id_of_test(line: &str) -> Option<String> {
    let id = name_of_function(line)?.split_once('_')?.0.to_uppercase();
    is_numbered(&id).then_some(id)
}

#[test]
fn each_rule_that_is_cited_is_in_the_table_of_rules() {
    let rules = rules();
    let areas: BTreeSet<&str> = rules.iter().filter_map(|rule| rule.split('-').next()).collect();
    let mut unknown = Vec::new();
    for (file, text) in files(&["crates", "docs", "fuzz"], &["rs", "md"]) {
        for (number, line) in text.lines().enumerate() {
            let cited = if file.ends_with(".md") { Some(line) } else { comment(line) };
            let cited = cited.into_iter().flat_map(|text| cited_rules(text, &areas));
            unknown.extend(
                cited
                    .filter(|rule| !rules.contains(*rule))
                    .map(|rule| format!("{file}:{}: {rule}", number + 1)),
            );
        }
    }
    assert!(unknown.is_empty(), "not in rules.tsv:\n{}", unknown.join("\n"));
}

#[test]
fn each_threat_and_finding_that_is_cited_is_in_a_table_of_the_documents() {
    let known: BTreeSet<String> = TABLES.into_iter().flat_map(first_column).collect();
    let mut unknown = Vec::new();
    for (file, text) in files(&["crates", "fuzz", "bench", "xtask"], &["rs"]) {
        for (number, line) in text.lines().enumerate() {
            let in_comment = comment(line).into_iter().flat_map(words).filter(|word| is_id(word));
            let cited = in_comment.map(str::to_owned).chain(id_of_test(line));
            unknown.extend(
                cited.filter(|id| !known.contains(id)).map(|id| format!("{file}:{}: {id}", number + 1)),
            );
        }
    }
    assert!(unknown.is_empty(), "in none of {TABLES:?}:\n{}", unknown.join("\n"));
}

#[test]
fn each_threat_names_a_test_that_exists_and_begins_with_its_id() {
    let tests: BTreeSet<String> = files(&["crates"], &["rs"])
        .iter()
        .flat_map(|(_, text)| {
            text.lines().filter_map(name_of_function).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let text = std::fs::read_to_string(root().join("docs/threats.md")).unwrap();
    let mut wrong = Vec::new();
    for row in text.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        let test = cells.last().map_or("", |cell| cell.trim_matches('`'));
        let begins = |id: &str| test.split('_').any(|part| part.eq_ignore_ascii_case(id));
        if is_numbered(cells[0]) && !(begins(cells[0]) && tests.contains(test)) {
            wrong.push(row);
        }
    }
    assert!(wrong.is_empty(), "docs/threats.md names tests that are not there:\n{}", wrong.join("\n"));
}

/// Returns the ids that the name of a test begins with: `p9_p11_each_round_has_a_line` is about P9 and P11.
fn ids_of_test(test: &str) -> impl Iterator<Item = String> {
    test.split('_').map(str::to_uppercase).take_while(|part| is_numbered(part))
}

#[test]
fn each_id_is_in_one_row_of_one_table() {
    let mut ids: Vec<String> = TABLES.into_iter().flat_map(first_column).collect();
    ids.sort_unstable();
    let twice: BTreeSet<&str> =
        ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].as_str()).collect();
    assert!(twice.is_empty(), "in two rows of {TABLES:?}: {twice:?}");
}

#[test]
fn each_finding_has_a_test_that_begins_with_its_id() {
    let files = files(&["crates", "xtask"], &["rs"]);
    let of_python = self::files(&["python"], &["py"]);
    let in_python = of_python.iter().flat_map(|(_, text)| {
        text.lines().filter_map(|line| line.strip_prefix("def test_")?.split('(').next())
    });
    // The model's table of seeds names the finding of each Source.
    let model = files.iter().filter(|(name, _)| name.ends_with("tests/model.rs"));
    let of_seeds = model.flat_map(|(_, text)| {
        text.lines().filter_map(|line| line.trim_start().strip_prefix("(\"")?.split(['"', ',']).next())
    });
    let in_rust = files.iter().flat_map(|(_, text)| text.lines().filter_map(name_of_function));
    let tested: BTreeSet<String> = in_rust.chain(in_python).chain(of_seeds).flat_map(ids_of_test).collect();
    let open: Vec<_> =
        first_column("docs/findings.md").into_iter().filter(|id| !tested.contains(id)).collect();
    assert!(open.is_empty(), "rows of docs/findings.md without a test: {}", open.join(", "));
}

//! Conformance: the fixtures, and for every rule that a program can check a passing and a failing case.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and tells what it covers")]

#[path = "conformance/cases.rs"]
mod cases;
#[path = "conformance/oracles.rs"]
mod oracles;
#[path = "conformance/packages.rs"]
mod packages;
#[path = "conformance/together.rs"]
mod together;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use resourcesync::{
    Document, Finding, ReadOptions, Severity, SpecVersion, WriteOptions,
    package::PackageLimits,
    validate::{Rule, ValidateOptions, Validator},
};

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data").join(folder);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

fn name(file: &Path) -> &str {
    file.file_stem().unwrap().to_str().unwrap()
}

fn findings(document: &[u8], version: SpecVersion) -> Vec<Finding> {
    let mut options = ValidateOptions::new();
    options.version = version;
    Validator::new(options).document(document).unwrap().findings
}

fn errors(findings: &[Finding]) -> BTreeSet<&str> {
    findings.iter().filter(|finding| finding.is_error()).map(|finding| finding.rule).collect()
}

#[test]
fn each_invalid_fixture_breaks_the_rule_in_its_name_and_no_unrelated_one() {
    for file in fixtures("constructed/invalid") {
        let rule = name(&file).split('_').next().unwrap();
        let findings = findings(&fs::read(&file).unwrap(), SpecVersion::V1_1);
        assert!(findings.iter().any(|finding| finding.rule == rule), "{}: {findings:#?}", file.display());
        let mut expected = BTreeSet::from([rule]);
        match name(&file) {
            "TIME-1_from_on_resource_list" => drop(expected.insert("RL-2")),
            "CAP-12_capability_list_index" => expected.clear(),
            _ => {}
        }
        assert_eq!(errors(&findings), expected, "{}", file.display());
    }
}

#[test]
fn valid_fixtures_have_no_errors() {
    for file in fixtures("constructed/valid") {
        let findings = findings(&fs::read(&file).unwrap(), SpecVersion::V1_1);
        assert_eq!(errors(&findings), BTreeSet::new(), "{}", file.display());
    }
}

#[test]
fn the_examples_of_the_standard_have_only_the_faults_that_were_published() {
    for (folder, version) in [("v1.1", SpecVersion::V1_1), ("v1.0", SpecVersion::V1_0)] {
        for file in fixtures(folder) {
            let expected = match name(&file) {
                "example_01" | "example_02" => BTreeSet::from(["RL-3"]),
                "example_03" => BTreeSet::from(["CL-3"]),
                "example_04" => BTreeSet::from(["RD-3"]),
                "example_05" => BTreeSet::from(["RDM-3"]),
                "example_08" => BTreeSet::from(["RLI-3"]),
                _ => BTreeSet::new(),
            };
            let findings = findings(&fs::read(&file).unwrap(), version);
            assert_eq!(errors(&findings), expected, "{}: {findings:#?}", file.display());
        }
    }
}

#[test]
fn the_packages_break_the_rule_in_their_name() {
    for file in fixtures("constructed/zip") {
        let source = fs::File::open(&file).unwrap();
        let report = Validator::default().package(source, PackageLimits::new(), None).unwrap();
        let mut all = report.package.findings;
        all.extend(report.manifest.into_iter().flat_map(|manifest| manifest.findings));
        let expected = name(&file).split('_').next().filter(|rule| rule.starts_with("ZIP-"));
        assert_eq!(
            errors(&all).contains(expected.unwrap_or("ZIP-")),
            expected.is_some(),
            "{}: {all:#?}",
            file.display()
        );
        if expected.is_none() {
            assert_eq!(errors(&all), BTreeSet::new(), "{}", file.display());
        }
    }
}

#[test]
fn every_rule_that_a_document_can_break_has_a_passing_and_a_failing_case() {
    let mut covered: BTreeMap<&str, u32> = BTreeMap::new();
    for case in cases::cases() {
        let passes = findings(case.passes.as_bytes(), SpecVersion::V1_1);
        let at_case = |finding: &&Finding| finding.rule == case.rule && finding.severity == case.severity;
        assert!(
            !passes.iter().any(|finding| at_case(&finding)),
            "{} in {}\n{passes:#?}",
            case.rule,
            case.passes
        );
        let fails = findings(case.fails.as_bytes(), SpecVersion::V1_1);
        let found = fails.iter().find(at_case);
        assert!(
            found.is_some_and(|finding| finding.position.line > 0),
            "{} not in {}\n{fails:#?}",
            case.rule,
            case.fails
        );
        *covered.entry(case.rule).or_default() += 1;
    }
    for rule in together::check_all().into_iter().chain(packages::check_all()) {
        *covered.entry(rule).or_default() += 1;
    }
    for rule in Rule::all() {
        match (covered.get(rule.id), reason_without_case(rule.id, rule.who)) {
            (Some(cases), _) => println!("{:8} {cases} passing, {cases} failing", rule.id),
            (None, Some(reason)) => println!("{:8} {reason}", rule.id),
            (None, None) => panic!("{} has no case", rule.id),
        }
    }
}

/// Returns the reason why no document, package or answer can show that a rule is broken.
fn reason_without_case(rule: &str, who: &str) -> Option<&'static str> {
    Some(match rule {
        "GEN-9" | "GEN-26" | "ATT-22" | "DISC-7" | "DIA-2" | "DIA-3" | "DIA-7" | "DIA-10" | "NAV-5" => {
            return None;
        }
        "GEN-17" | "TIME-5" | "TIME-7" | "CAP-5" | "CAP-10" | "CLI-1" | "RL-8" | "LN-23" | "FN-5" => {
            "says what only the Source knows"
        }
        "SD-3" => "cannot be told from SD-11",
        "TIME-10" | "N8-3" | "N8-9" | "CN-9" | "FN-4" | "DIA-8" => {
            "says what a Source does, not what it writes"
        }
        "GEN-19" | "TIME-9" | "CL-5" | "ARC-1" | "ARC-3" | "CN-1" | "DISC-4" | "DISC-5" => {
            "allows something; nothing can break it"
        }
        "RD-8" | "CD-10" | "CDM-9" => "its values are those of ATT-1 to ATT-23",
        "N8-7" => "the same as FN-1 to FN-6",
        "N8-8" => "any XML document does",
        "GEN-25" => "is a schema, tested with the schema",
        _ if who == "D" || who == "H" => "says how a reader or a hub behaves; tested there",
        _ => return None,
    })
}

#[test]
fn what_the_writer_takes_breaks_no_must_and_what_it_refuses_it_refuses_by_rule() {
    let mut refused = BTreeSet::new();
    for case in cases::cases() {
        for text in [&case.passes, &case.fails] {
            let mut as_written = ReadOptions::new();
            as_written.dialects = false;
            let Ok(document) = Document::read(text.as_bytes(), as_written) else { continue };
            match document.write(Vec::new(), WriteOptions::new()) {
                Err(error) => drop(refused.insert(error.rule().unwrap())),
                // A plain Sitemap owes nothing to ResourceSync.
                Ok(_) if document.header().metadata.is_none() => {}
                Ok(bytes) => {
                    let findings = findings(&bytes, SpecVersion::V1_1);
                    assert_eq!(errors(&findings), BTreeSet::new(), "{}: {findings:#?}\n{text}", case.rule);
                }
            }
        }
    }
    println!("refused: {refused:?}");
    for rule in [
        "GEN-4", "GEN-7", "GEN-21", "ATT-1", "ATT-10", "ATT-17", "RL-2", "RL-3", "CL-6", "CLI-2", "CAP-8",
        "CDM-11",
    ] {
        assert!(refused.contains(rule), "{rule}: {refused:?}");
    }
}

#[test]
fn dia_9_the_versions_differ_in_lastmod_and_datetime() {
    let dated = cases::document(
        "urlset",
        "<rs:ln rel=\"up\" href=\"http://example.com/up.xml\"/><rs:md capability=\"changelist\" from=\"2013-01-03T00:00:00Z\"/>",
        "<url><loc>http://example.com/a</loc><rs:md change=\"updated\" datetime=\"2013-01-03T01:00:00Z\"/></url>",
    );
    assert_eq!(errors(&findings(dated.as_bytes(), SpecVersion::V1_1)), BTreeSet::new());
    let old = findings(dated.as_bytes(), SpecVersion::V1_0);
    assert_eq!(errors(&old), BTreeSet::from(["DIA-9"]));
    assert!(old.iter().any(|finding| finding.rule == "DIA-9" && finding.severity == Severity::Info));
    let both = dated.replace("</loc>", "</loc><lastmod>2013-01-03T01:00:00Z</lastmod>");
    assert_eq!(errors(&findings(both.as_bytes(), SpecVersion::V1_0)), BTreeSet::new());
}

#[test]
fn strict_makes_errors_of_warnings() {
    let mut options = ValidateOptions::new();
    options.strict = true;
    let list = fs::read(&fixtures("constructed/valid")[9]).unwrap();
    let report = Validator::new(options).document(&list[..]).unwrap();
    assert_eq!(report.summary.warnings, 0);
    assert_eq!(report.summary.rules.values().sum::<u64>(), report.findings.len() as u64);
}

#[test]
fn time_9_lastmod_says_nothing_about_the_change() {
    let file = fixtures("constructed/valid")
        .into_iter()
        .find(|file| name(file).contains("lastmod_outside"))
        .unwrap();
    let findings = findings(&fs::read(file).unwrap(), SpecVersion::V1_1);
    assert!(findings.is_empty(), "{findings:#?}");
}

//! Surveys over the documents of real looks, one after the other.

use super::*;

fn document(leads_to: &[&str]) -> SurveyedDocument {
    let link = |uri: &&str| SurveyedLink { uri: (*uri).to_owned(), capability: None };
    SurveyedDocument { leads_to: leads_to.iter().map(link).collect(), ..SurveyedDocument::default() }
}

fn survey(documents: &[(&str, &[&str])]) -> SourceSurvey {
    let documents = documents.iter().map(|(uri, leads_to)| ((*uri).to_owned(), document(leads_to)));
    SourceSurvey { url: "https://a.example/".to_owned(), documents: documents.collect(), left_out: 0 }
}

fn names(survey: &SourceSurvey) -> Vec<&str> {
    survey.documents.keys().map(String::as_str).collect()
}

#[test]
fn a_document_that_did_not_arrive_again_stays_as_it_was_while_something_leads_to_it() {
    let mut known = survey(&[("top", &["list", "index"]), ("list", &[]), ("index", &["one"]), ("one", &[])]);
    known.add(survey(&[("index", &["one", "two"]), ("two", &[])]));
    assert_eq!(names(&known), ["index", "list", "one", "top", "two"]);
    assert_eq!(known.roots().collect::<Vec<_>>(), ["top"]);
    // The index is gone, and with it what only it led to.
    known.add(survey(&[("top", &["list"])]));
    assert_eq!(names(&known), ["list", "top"]);
}

#[test]
fn another_url_begins_anew() {
    let mut known = survey(&[("top", &[])]);
    let mut other = survey(&[("other", &[])]);
    "https://b.example/".clone_into(&mut other.url);
    known.add(other);
    assert_eq!(names(&known), ["other"]);
}

#[test]
fn documents_that_lead_to_each_other_are_shown_nevertheless() {
    let circle = survey(&[("a", &["b"]), ("b", &["a"])]);
    assert_eq!(circle.roots().collect::<Vec<_>>(), ["a", "b"]);
    let itself = survey(&[("a", &["a"])]);
    assert_eq!(itself.roots().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn more_documents_than_are_kept_are_counted() {
    let mut known = SourceSurvey { url: "https://a.example/".to_owned(), ..SourceSurvey::default() };
    let mut many = known.clone();
    let uris = (0..SourceSurvey::MOST + 7).map(|number| (format!("{number:04}"), document(&[])));
    many.documents = uris.collect();
    known.add(many);
    assert_eq!((known.documents.len(), known.left_out), (SourceSurvey::MOST, 7));
}

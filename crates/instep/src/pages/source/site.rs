//! The context of one request for a page of a Source: its parameters, the Source, and the addresses that its page links
//! to.

use anyhow::Result;
use instep_source::serve::SourceView;
use maud::{Markup, html};

use crate::{
    pages::design::{Frame, PageBody},
    ui::format::name,
};

/// The path of pages and documents below the base URL.
pub(super) const FOLDER: &str = "resourcesync/";

/// The result of making a page; `None` if there is nothing to show at its address.
pub(super) type Found = Result<Option<PageBody>>;

/// The names of pages in the navigation.
pub(super) const OVERVIEW: &str = "Overview";
pub(super) const BROWSE: &str = "Browse";
pub(super) const CONNECTED: &str = "Connected";
pub(super) const STATUS: &str = "Status";

/// A Source and the parameters of one request.
pub(super) struct PageContext<'a> {
    pub(super) view: &'a SourceView,
    parameters: Vec<(String, String)>,
}

impl<'a> PageContext<'a> {
    /// Reads the query of a request.
    pub(super) fn new(view: &'a SourceView, query: &str) -> Self {
        let parameters = url::form_urlencoded::parse(query.as_bytes());
        Self { view, parameters: parameters.into_owned().collect() }
    }

    /// Returns a parameter of the query; an empty text if it is not given.
    pub(super) fn parameter(&self, name: &str) -> String {
        let given = self.parameters.iter().find(|(given, _)| given == name);
        given.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// Returns the base URL.
    pub(super) fn base(&self) -> &str {
        self.view.place().base()
    }

    /// Returns an address below the base URL, without scheme and host: the browser may know this server by another
    /// name.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.view.place().path())
    }

    /// Returns the address of a page with parameters.
    pub(super) fn page(&self, name: &str, parameters: &[(&str, &str)]) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        self.path(&format!("{FOLDER}{name}?{query}"))
    }

    /// Returns the address of the page of a document, given by its name below the base URL.
    pub(super) fn document_path(&self, name: &str) -> String {
        self.page("document", &[("name", name)])
    }

    /// Returns the part of a URI after the base URL; the whole URI if it is not below the base URL.
    pub(super) fn short<'u>(&self, uri: &'u str) -> &'u str {
        uri.strip_prefix(self.base()).filter(|short| !short.is_empty()).unwrap_or(uri)
    }

    /// Draws a link to the page of a resource. A resource that is gone has no page and is only text.
    pub(super) fn resource_link(&self, uri: &str, is_gone: bool) -> Markup {
        html! {
            @if is_gone { (unescaped(self.short(uri))) }
            @else { a href=(self.page("resource", &[("uri", uri)])) { (unescaped(self.short(uri))) } }
        }
    }

    /// Returns the name of a set for people.
    pub(super) fn set_name<'n>(&self, name: &'n str) -> &'n str {
        if name.is_empty() { "All resources" } else { name }
    }

    /// Returns the name of the Source: its host and path.
    pub(super) fn name(&self) -> &str {
        let base = self.base();
        base.split_once("://").map_or(base, |(_, rest)| rest).trim_end_matches('/')
    }

    /// Returns the frame of the pages of this Source.
    pub(super) fn frame(&self) -> Frame {
        let place = self.view.place();
        let lists = self.view.sets().iter().map(|set| place.set(set).capability_list().into_string());
        Frame {
            name: self.name().to_owned(),
            assets: self.path(FOLDER),
            links: vec![
                (OVERVIEW, self.path(FOLDER)),
                (BROWSE, self.path("resourcesync/browse")),
                (CONNECTED, self.path("resourcesync/connected")),
                (STATUS, self.path("status")),
            ],
            search: Some(self.path("resourcesync/search")),
            lists: lists.collect(),
            refresh: None,
            events: None,
        }
    }
}

/// Returns a part of a URI for people: escapes are decoded, but control characters and direction marks are shown as
/// `\u{...}` (D10).
pub(super) fn unescaped(part: &str) -> String {
    name(&percent_encoding::percent_decode_str(part).decode_utf8_lossy())
}

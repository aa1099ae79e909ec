//! The verbs that are no lists of records.

use super::{
    arguments::{OaiFault, OaiRequest},
    error::AnswerError,
    lists::Answers,
    options::RepositoryOptions,
    xml::ResponseWriter,
};
use crate::datestamp::Granularity;

impl Answers<'_> {
    /// Answers a request.
    pub(super) fn answer(
        &self,
        request: OaiRequest,
        base_url: &str,
        options: &RepositoryOptions,
    ) -> Result<Result<ResponseWriter, OaiFault>, AnswerError> {
        match request {
            OaiRequest::Identify => self.identify(base_url, options).map(Ok),
            OaiRequest::ListSets => self.sets(),
            OaiRequest::ListMetadataFormats { identifier } => self.formats(identifier.as_deref()),
            OaiRequest::GetRecord { identifier, format } => self.get(&identifier, &format),
            OaiRequest::List { with_metadata, begin } => self.list(with_metadata, begin),
        }
    }

    fn identify(&self, base_url: &str, options: &RepositoryOptions) -> Result<ResponseWriter, AnswerError> {
        let earliest = self.index.earliest()?.unwrap_or_else(|| self.snapshot.at().instant().0);
        let host = base_url
            .split("://")
            .nth(1)
            .and_then(|rest| rest.split(['/', ':']).next())
            .unwrap_or("localhost");
        let email = || {
            if host.contains('.') {
                format!("postmaster@{host}")
            } else {
                format!("postmaster@{host}.invalid")
            }
        };
        let mut writer = ResponseWriter::default();
        writer.open("Identify");
        writer.text("repositoryName", options.name.as_deref().unwrap_or(host));
        writer.text("baseURL", base_url);
        writer.text("protocolVersion", "2.0");
        writer.text("adminEmail", &options.admin_email.clone().unwrap_or_else(email));
        writer.text("earliestDatestamp", &Granularity::Second.write(earliest));
        writer.text("deletedRecord", "persistent");
        writer.text("granularity", Granularity::Second.as_str());
        writer.close("Identify");
        Ok(writer)
    }

    fn sets(&self) -> Result<Result<ResponseWriter, OaiFault>, AnswerError> {
        let sets = self.index.sets()?;
        if sets.is_empty() {
            return Ok(Err(OaiFault::new("noSetHierarchy", "This repository has no sets")));
        }
        let mut writer = ResponseWriter::default();
        writer.open("ListSets");
        for set in &sets {
            writer.open("set");
            writer.text("setSpec", set);
            writer.text("setName", set);
            writer.close("set");
        }
        writer.close("ListSets");
        Ok(Ok(writer))
    }

    fn formats(&self, identifier: Option<&str>) -> Result<Result<ResponseWriter, OaiFault>, AnswerError> {
        if let Some(identifier) = identifier
            && self.index.item(identifier)?.is_empty()
        {
            return Ok(Err(unknown(identifier)));
        }
        let formats = match identifier {
            Some(_) => self.index.formats(identifier)?,
            None => self.all_formats()?,
        };
        if formats.is_empty() {
            return Ok(Err(OaiFault::new("noMetadataFormats", "This record does not exist in any format")));
        }
        let mut writer = ResponseWriter::default();
        writer.open("ListMetadataFormats");
        for format in &formats {
            writer.open("metadataFormat");
            writer.text("metadataPrefix", &format.prefix);
            writer.text("schema", &format.schema);
            writer.text("metadataNamespace", &format.namespace);
            writer.close("metadataFormat");
        }
        writer.close("ListMetadataFormats");
        Ok(Ok(writer))
    }

    fn get(&self, identifier: &str, format: &str) -> Result<Result<ResponseWriter, OaiFault>, AnswerError> {
        let records = self.index.item(identifier)?;
        if records.is_empty() {
            return Ok(Err(unknown(identifier)));
        }
        let Some(record) = records.iter().find(|record| record.format == format) else {
            let message = format!("{identifier} does not exist in the format {format:?}");
            return Ok(Err(OaiFault::new("cannotDisseminateFormat", message)));
        };
        let mut writer = ResponseWriter::default();
        writer.open("GetRecord");
        if !self.record(&mut writer, record, true)? {
            return Err(AnswerError::Unreadable);
        }
        writer.close("GetRecord");
        Ok(Ok(writer))
    }
}

fn unknown(identifier: &str) -> OaiFault {
    OaiFault::new("idDoesNotExist", format!("{identifier:?} is not an identifier of this repository"))
}

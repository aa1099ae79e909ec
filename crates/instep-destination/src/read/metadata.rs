//! The selection of resources by their metadata records, which are fetched before the resources (§14.5). The condition
//! itself is in `plan/condition.rs`.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt as _, stream};
use instep_net::{Client, HttpError, Origin, Request};
use resourcesync::Uri;

use crate::{
    Error, ProblemKind,
    error::{BesideUrl as _, error_chain},
    plan::{Condition, Retrieval},
    run::{SetRun, SyncRun},
    state::{Action, Owed},
};

/// The most bytes of a record.
const RECORD_BYTES: usize = 4 << 20;
/// The number of rows of the plan that are read at a time.
const PAGE: usize = 500;
/// The number of records that are requested at a time. The client limits the requests to one host.
const AT_A_TIME: usize = 16;
/// The number of records whose result is remembered, because one record often describes many resources.
const REMEMBERED: usize = 10_000;

/// A metadata record, and the origin of a resource that names it, which decides if the record may be requested.
type NamedRecord = (Uri, Option<Origin>);

/// The result of the condition for each metadata record, by its URI.
#[derive(Default)]
struct Verdicts(BTreeMap<String, bool>);

impl SyncRun<'_> {
    /// Removes the resources from a plan whose record does not meet the condition. If a record could not be fetched,
    /// its resource becomes pending.
    pub(crate) async fn choose_by_metadata(&mut self, set: &SetRun) -> Result<(), Error> {
        let Some(condition) = self.policy.condition.clone() else { return Ok(()) };
        let (mut after, mut verdicts) = (0, Verdicts::default());
        loop {
            let page = set.with(|draft| draft.actions().after(after, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.sequence;
            let chosen = page.into_iter().filter(|action| action.kind.asks());
            self.choose(set, chosen.collect(), &condition, &mut verdicts).await?;
        }
    }

    async fn choose(
        &mut self,
        set: &SetRun,
        actions: Vec<Action>,
        condition: &Condition,
        verdicts: &mut Verdicts,
    ) -> Result<(), Error> {
        let client = self.network.client.clone();
        let described: Vec<_> = actions.into_iter().map(|action| (record_of(&action), action)).collect();
        // Hundreds of resources may name the same record, which is requested once.
        let named: BTreeSet<NamedRecord> =
            described.iter().filter_map(|(record, _)| record.clone()).collect();
        let asked = named.into_iter().map(|named| {
            let (client, known) = (client.clone(), verdicts.0.get(named.0.as_str()).copied());
            async move {
                let verdict = match known {
                    Some(known) => Ok(known),
                    None => ask(&client, &named, condition).await,
                };
                (named, verdict)
            }
        });
        let answers = stream::iter(asked.collect::<Vec<_>>()).buffered(AT_A_TIME);
        let answers =
            self.stop.unless(answers.collect::<BTreeMap<_, _>>()).await.ok_or(Error::Interrupted)?;
        for ((record, _), verdict) in &answers {
            match verdict {
                Ok(holds) if verdicts.0.len() < REMEMBERED => {
                    verdicts.0.insert(record.as_str().to_owned(), *holds);
                }
                Ok(_) => {}
                Err(error) => {
                    let what = format!("the metadata record is missing: {}", error.beside(record.as_str()));
                    self.reporter.problem(ProblemKind::Unreachable, record.as_str(), &what);
                }
            }
        }
        for (record, Action { desired, .. }) in described {
            let uri = desired.uri.as_str().to_owned();
            match record.and_then(|record| answers.get(&record)) {
                Some(Ok(true)) => {}
                Some(Ok(false)) | None => set.with(|draft| draft.exclude(&uri))?,
                Some(Err(error)) => {
                    let what = format!("its metadata record is missing: {}", error_chain(error));
                    set.with(|draft| draft.owe(&uri, Owed::new(desired, what)))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the record that describes a resource; `None` if there is none. A record describes itself.
fn record_of(action: &Action) -> Option<NamedRecord> {
    let Retrieval { describedby, describes, .. } = action.desired.retrieval();
    let record = match describedby {
        Some(href) => Uri::parse(href).ok(),
        None => describes.then(|| action.desired.uri.clone()),
    };
    record.map(|record| (record, Origin::parse(action.desired.uri.as_str()).ok()))
}

async fn ask(
    client: &Client,
    (record, speaker): &NamedRecord,
    condition: &Condition,
) -> Result<bool, HttpError> {
    let mut request = Request::get(record.clone());
    request.speaker.clone_from(speaker);
    let mut response = client.send(&request).await?.successful()?;
    let broken = |what: String| HttpError::Transfer { uri: record.as_str().to_owned(), source: what.into() };
    // Compressed bytes are neither JSON nor XML, and would meet no condition.
    if let Some(coding) = response.coding() {
        return Err(broken(format!(
            "it arrived in the content coding {coding:?}, although none was accepted"
        )));
    }
    let Some(read) = response.body.read_up_to(RECORD_BYTES).await? else {
        return Err(broken(format!("it has more than {RECORD_BYTES} bytes")));
    };
    Ok(condition.holds(&read))
}

//! Changes that suppliers report of their resources.

use std::sync::mpsc;

use super::{message::Message, settle::Touch};
use crate::{
    Publisher,
    content::{ChangeReporter, ReportedPath},
};

/// Gives each supplier a reporter. Suppliers report whether folders are watched or not.
pub(super) fn watch_suppliers(publisher: &Publisher, messages: &mpsc::SyncSender<Message>) {
    for root in publisher.holdings().roots() {
        if let Some(supply) = &root.supply {
            let messages = messages.clone();
            let report = move |reported| match reported {
                ReportedPath::One(path) => {
                    if messages.try_send(Message::Touched(path, Touch::Whole)).is_err() {
                        let _ = messages.send(Message::ScanEverything);
                    }
                }
                ReportedPath::Everything => drop(messages.send(Message::ScanEverything)),
            };
            supply.0.watch(ChangeReporter::new(&root.folder(), report));
        }
    }
}

//! Responses in the shapes in which the platforms of most repositories write them: their declarations, stylesheets, tokens,
//! identifiers, sets and namespaces. Names and texts are made up.

use instep_testkit::{FakeRepository, RepositoryFault::Body, RepositoryLayout};

use crate::Bench;

/// A platform: its responses, and the resources that a harvest makes of them.
struct Platform {
    name: &'static str,
    /// The text before the root element.
    begin: &'static str,
    format: &'static str,
    identify: &'static str,
    first: &'static str,
    /// The token as it is written, and as it has to be sent.
    token: (&'static str, &'static str),
    last: &'static str,
    published: &'static [&'static str],
}

const DUBLIN_CORE: &str = r#"xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/""#;

const PLATFORMS: [Platform; 5] = [
    Platform {
        name: "Invenio",
        begin: "<?xml version='1.0' encoding='UTF-8'?>\n<?xml-stylesheet type=\"text/xsl\" href=\"/static/xsl/oai2.v1.0.xsl\"?>\n",
        format: "oai_datacite",
        identify: "<earliestDatestamp>0001-01-01T00:00:00Z</earliestDatestamp><deletedRecord>persistent</deletedRecord>\
                   <granularity>YYYY-MM-DDThh:mm:ssZ</granularity>",
        first: r#"<record><header><identifier>oai:invenio.example.org:1442</identifier><datestamp>2024-03-01T09:14:00Z</datestamp>
            <setSpec>software</setSpec><setSpec>user-lab</setSpec></header><metadata>
            <oai_datacite xmlns="http://schema.datacite.org/oai/oai-1.1/" xsi:schemaLocation="http://schema.datacite.org/oai/oai-1.1/ http://schema.datacite.org/oai/oai-1.1/oai.xsd">
            <schemaVersion>4.3</schemaVersion><payload><resource xmlns="http://datacite.org/schema/kernel-4"><titles><title>A</title></titles></resource></payload></oai_datacite>
            </metadata></record>
            <resumptionToken cursor="0" expirationDate="2024-03-02T10:02:00Z" completeListSize="2">.eJyrVsosLlGyUjI2MLPQUSpKzU0sAQA.Zd-x_Q.5</resumptionToken>"#,
        token: (".eJyrVsosLlGyUjI2MLPQUSpKzU0sAQA.Zd-x_Q.5", ".eJyrVsosLlGyUjI2MLPQUSpKzU0sAQA.Zd-x_Q.5"),
        last: r#"<record><header><identifier>oai:invenio.example.org:1443</identifier><datestamp>2024-03-01T09:15:00Z</datestamp></header><metadata>
            <oai_datacite xmlns="http://schema.datacite.org/oai/oai-1.1/"><payload/></oai_datacite></metadata></record>"#,
        published: &[
            "records/oai_datacite/oai:invenio.example.org:1442.xml",
            "records/oai_datacite/oai:invenio.example.org:1443.xml",
        ],
    },
    Platform {
        name: "Dataverse",
        begin: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
        format: "oai_dc",
        identify: "<earliestDatestamp>2016-05-10T14:26:57Z</earliestDatestamp><deletedRecord>transient</deletedRecord>\
                   <granularity>YYYY-MM-DDThh:mm:ssZ</granularity><description><toolkit xmlns=\"http://oai.dlib.vt.edu/OAI/metadata/toolkit\">\
                   <title>XOAI</title></toolkit></description>",
        first: r#"<record><header><identifier>doi:10.70122/FK2/ABC</identifier><datestamp>2020-01-01T00:00:00Z</datestamp><setSpec>all_data</setSpec></header>
            <metadata><oai_dc:dc {dc} xmlns="http://www.openarchives.org/OAI/2.0/"><dc:title>Votes</dc:title><dc:identifier>https://doi.org/10.70122/FK2/ABC</dc:identifier></oai_dc:dc></metadata></record>
            <record><header status="deleted"><identifier>hdl:1902.1/1</identifier><datestamp>2020-01-02T00:00:00Z</datestamp></header></record>
            <resumptionToken completeListSize="3" cursor="0">b2Zmc2V0OjoxMHxwcmVmaXg6Om9haV9kYw==</resumptionToken>"#,
        token: ("b2Zmc2V0OjoxMHxwcmVmaXg6Om9haV9kYw==", "b2Zmc2V0OjoxMHxwcmVmaXg6Om9haV9kYw%3D%3D"),
        last: r#"<record><header><identifier>doi:10.70122/FK2/DEF</identifier><datestamp>2020-01-03T00:00:00Z</datestamp></header>
            <metadata><oai_dc:dc {dc}><dc:title>More votes</dc:title></oai_dc:dc></metadata></record><resumptionToken completeListSize="3" cursor="1"/>"#,
        published: &[
            "records/oai_dc/doi:10.70122=2FFK2=2FABC.xml",
            "records/oai_dc/doi:10.70122=2FFK2=2FDEF.xml",
        ],
    },
    Platform {
        name: "DSpace 7",
        begin: "<?xml version=\"1.0\" encoding=\"UTF-8\"?><?xml-stylesheet type=\"text/xsl\" href=\"static/style.xsl\"?>",
        format: "oai_dc",
        identify: "<earliestDatestamp>2011-09-01T02:07:43Z</earliestDatestamp><deletedRecord>transient</deletedRecord>\
                   <granularity>YYYY-MM-DDThh:mm:ssZ</granularity>",
        first: r#"<record><header><identifier>oai:repository.example.edu:10673/4</identifier><datestamp>2016-07-05T17:28:25Z</datestamp>
            <setSpec>com_10673_2</setSpec><setSpec>col_10673_3</setSpec></header><metadata>
            <oai_dc:dc {dc} xmlns:doc="http://www.lyncode.com/xoai" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b">
            <dc:title>On dust</dc:title><dc:identifier>http://hdl.handle.net/10673/4</dc:identifier></oai_dc:dc></metadata></record>
            <resumptionToken completeListSize="2" cursor="0">oai_dc////100</resumptionToken>"#,
        token: ("oai_dc////100", "oai_dc%2F%2F%2F%2F100"),
        last: r#"<record><header><identifier>oai:repository.example.edu:10673/5</identifier><datestamp>2016-07-06T17:28:25Z</datestamp></header><metadata>
            <oai_dc:dc {dc}><dc:title>On sand</dc:title></oai_dc:dc></metadata></record><resumptionToken completeListSize="2" cursor="1"></resumptionToken>"#,
        published: &[
            "records/oai_dc/oai:repository.example.edu:10673=2F4.xml",
            "records/oai_dc/oai:repository.example.edu:10673=2F5.xml",
        ],
    },
    Platform {
        name: "EPrints",
        begin: "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<?xml-stylesheet type='text/xsl' href='/oai2.xsl' ?>\n\n",
        format: "oai_dc",
        identify: "<earliestDatestamp>2004-11-08T11:27:04Z</earliestDatestamp><deletedRecord>persistent</deletedRecord>\
                   <granularity>YYYY-MM-DDThh:mm:ssZ</granularity><description><eprints xmlns=\"http://www.openarchives.org/OAI/1.1/eprints\">\
                   <content><URL/></content></eprints></description>",
        first: r#"<record>
    <header>
      <identifier>oai:eprints.example.ac.uk:260</identifier>
      <datestamp>2017-04-03T16:31:10Z</datestamp>
      <setSpec>7374617475733D707562</setSpec></header>
    <metadata>
      <oai_dc:dc {dc}>
        <dc:relation>http://eprints.example.ac.uk/260/</dc:relation>
        <dc:title>Waves &amp; tides</dc:title>
        <dc:identifier>http://eprints.example.ac.uk/260/1/waves%20&amp;%20tides.pdf</dc:identifier></oai_dc:dc></metadata></record>
  <resumptionToken>metadataPrefix%3Doai_dc%26offset%3D1</resumptionToken>"#,
        token: ("metadataPrefix%3Doai_dc%26offset%3D1", "metadataPrefix%253Doai_dc%2526offset%253D1"),
        last: r#"<record><header status="deleted"><identifier>oai:eprints.example.ac.uk:261</identifier><datestamp>2017-04-04T16:31:10Z</datestamp></header></record>
            <record><header><identifier>oai:eprints.example.ac.uk:262</identifier><datestamp>2017-04-05T16:31:10Z</datestamp></header>
            <metadata><oai_dc:dc {dc}><dc:title>Currents</dc:title></oai_dc:dc></metadata></record>"#,
        published: &[
            "records/oai_dc/oai:eprints.example.ac.uk:260.xml",
            "records/oai_dc/oai:eprints.example.ac.uk:262.xml",
        ],
    },
    Platform {
        name: "OJS",
        begin: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?xml-stylesheet type=\"text/xsl\" href=\"https://journal.example.org/lib/pkp/xml/oai2.xsl\" ?>\n",
        format: "oai_dc",
        identify: "<earliestDatestamp>2019-02-11T10:00:00Z</earliestDatestamp><deletedRecord>persistent</deletedRecord>\
                   <granularity>YYYY-MM-DDThh:mm:ssZ</granularity><compression>gzip</compression><compression>deflate</compression>",
        first: "<record>\n<header>\n\t<identifier>oai:ojs.journal.example.org:article/12</identifier>\n\t<datestamp>2021-05-05T05:05:05Z</datestamp>\n\
                \t<setSpec>hist:ART</setSpec>\n\t<setSpec>driver</setSpec>\n</header>\n<metadata>\n<oai_dc:dc\n\t{dc}>\n\t<dc:title xml:lang=\"en-US\">Reading</dc:title>\n\
                \t<dc:description xml:lang=\"en-US\">&lt;p&gt;About reading&lt;/p&gt;</dc:description>\n\t<dc:relation>https://journal.example.org/hist/article/view/12/9</dc:relation>\n\
                \t<dc:source xml:lang=\"en-US\">History; Vol. 1 No. 1 (2021): One; 1-9</dc:source>\n\t<dc:source>1234-5679</dc:source>\n</oai_dc:dc>\n</metadata>\n</record>\n\
                <resumptionToken expirationDate=\"2021-05-06T05:05:05Z\"\n\tcompleteListSize=\"2\"\n\tcursor=\"0\">0bf1d1cd36ab44bb6b8c2dd1a8f85f5b</resumptionToken>\n",
        token: ("0bf1d1cd36ab44bb6b8c2dd1a8f85f5b", "0bf1d1cd36ab44bb6b8c2dd1a8f85f5b"),
        last: "<record><header><identifier>oai:ojs.journal.example.org:article/13</identifier><datestamp>2021-05-05T05:05:06Z</datestamp></header>\
               <metadata><oai_dc:dc {dc}><dc:title>Writing</dc:title></oai_dc:dc></metadata></record><resumptionToken completeListSize=\"2\" cursor=\"1\" />",
        published: &[
            "records/oai_dc/oai:ojs.journal.example.org:article=2F12.xml",
            "records/oai_dc/oai:ojs.journal.example.org:article=2F13.xml",
        ],
    },
];

impl Platform {
    fn response(&self, verb: &str, inside: &str) -> String {
        let inside = inside.replace("{dc}", DUBLIN_CORE);
        format!(
            "{}<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
             xsi:schemaLocation=\"http://www.openarchives.org/OAI/2.0/ http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd\">\n\
             <responseDate>2026-02-01T00:00:00Z</responseDate><request verb=\"{verb}\">https://x.example/oai</request>\
             <{verb}>{inside}</{verb}></OAI-PMH>",
            self.begin
        )
    }

    /// Returns a repository that answers a whole harvest so.
    fn repository(&self) -> FakeRepository {
        let fake = FakeRepository::start(RepositoryLayout::default());
        let identify = format!(
            "<repositoryName>{}</repositoryName><baseURL>https://x.example/oai</baseURL><protocolVersion>2.0</protocolVersion>\
             <adminEmail>a@x.example</adminEmail>{}",
            self.name, self.identify
        );
        fake.fail("verb=Identify", [Body(self.response("Identify", &identify))]);
        fake.fail("metadataPrefix=", [Body(self.response("ListRecords", self.first))]);
        fake.fail("resumptionToken=", [Body(self.response("ListRecords", self.last))]);
        fake
    }
}

#[test]
fn the_shapes_of_five_platforms_are_harvested_to_their_end() {
    for platform in &PLATFORMS {
        assert!(platform.first.contains(platform.token.0), "{}", platform.name);
        let mut bench = Bench::new(platform.repository());
        bench.arguments = format!("metadataPrefix={}", platform.format);
        bench.publish();
        assert!(
            bench.names().iter().eq(platform.published.iter().copied()),
            "{}: {:?}",
            platform.name,
            bench.names()
        );
        bench.assert_files_are_there();
        let requests = bench.requests();
        let expected = format!("verb=ListRecords&resumptionToken={}", platform.token.1);
        assert!(requests.contains(&expected), "{}: {requests:?}", platform.name);
    }
}

#[test]
fn metadata_that_dataverse_keeps_elsewhere_is_named_and_costs_no_other_record() {
    let platform = &PLATFORMS[1];
    let elsewhere = r#"<metadata directApiCall="https://x.example/api/datasets/export?exporter=dataverse_json&amp;persistentId=doi:10.70122/FK2/ABC"/>"#;
    let (begin, rest) = platform.first.split_once("<metadata>").unwrap();
    let (_, end) = rest.split_once("</metadata>").unwrap();
    let fake = platform.repository();
    fake.heal();
    let first = platform.response("ListRecords", &format!("{begin}{elsewhere}{end}"));
    fake.fail("metadataPrefix=", [Body(first)]);
    fake.fail("resumptionToken=", [Body(platform.response("ListRecords", platform.last))]);
    let bench = Bench::new(fake);
    bench.publish_with_problems(&["doi:10.70122/FK2/ABC", "has no metadata"]);
    assert!(bench.names().iter().eq(["records/oai_dc/doi:10.70122=2FFK2=2FDEF.xml"]), "{:?}", bench.names());
}

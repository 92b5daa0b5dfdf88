//! Figures for people: a table on a terminal, or Markdown for a page; with a peer, ratios beside them.

use std::fmt::Write as _;

use crate::measure::{Figures, Plan};
use crate::process::Memory;
use crate::stats;

/// How the tables look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Columns in line, for a terminal.
    Plain,
    /// Markdown tables.
    Markdown,
}

/// The whole report: requests, watches, memory, and how it was made.
pub fn render(ours: &Figures, peer: Option<&Figures>, plan: &Plan, style: Style) -> String {
    let mut text = String::new();
    let mut add = |title: &str, table: &Table| {
        let _ = writeln!(
            text,
            "{}\n",
            if style == Style::Markdown { format!("### {title}") } else { title.to_owned() }
        );
        let _ = writeln!(text, "{}", table.render(style));
    };
    add("Requests", &requests(ours, peer));
    add("Delivery to watchers", &deliveries(ours, peer));
    if let Some(table) = memory(ours, peer) {
        add("Memory", &table);
    }
    text + &how(ours, peer, plan)
}

fn requests(ours: &Figures, peer: Option<&Figures>) -> Table {
    let mut table = Table::new(&[
        "operation",
        "clients",
        "per second",
        "p50 ms",
        "p99 ms",
        "CPU ms each",
        "errors",
    ]);
    if peer.is_some() {
        table.head(&[
            "peer per second",
            "peer p50 ms",
            "peer p99 ms",
            "peer CPU ms",
            "ratio of rates",
        ]);
    }
    for (index, row) in ours.load.iter().enumerate() {
        let mut cells =
            vec![row.operation.name().to_owned(), row.clients.to_string(), whole(row.per_second)];
        cells.extend([
            fine(row.latency.p50_ms),
            fine(row.latency.p99_ms),
            optional(row.cpu_ms),
            row.errors.to_string(),
        ]);
        if let Some(theirs) = peer.and_then(|peer| peer.load.get(index)) {
            cells.extend([
                whole(theirs.per_second),
                fine(theirs.latency.p50_ms),
                fine(theirs.latency.p99_ms),
            ]);
            cells.extend([
                optional(theirs.cpu_ms),
                optional(stats::ratio(row.per_second, theirs.per_second)),
            ]);
        }
        table.row(cells);
    }
    table
}

fn deliveries(ours: &Figures, peer: Option<&Figures>) -> Table {
    let mut table = Table::new(&["watchers", "writes", "p50 ms", "p99 ms", "missing"]);
    if peer.is_some() {
        table.head(&["peer p50 ms", "peer p99 ms", "peer missing", "ratio of p99"]);
    }
    for (index, row) in ours.delivery.iter().enumerate() {
        let mut cells = vec![row.watchers.to_string(), row.writes.to_string()];
        cells.extend([fine(row.latency.p50_ms), fine(row.latency.p99_ms), row.missing.to_string()]);
        if let Some(theirs) = peer.and_then(|peer| peer.delivery.get(index)) {
            cells.extend([
                fine(theirs.latency.p50_ms),
                fine(theirs.latency.p99_ms),
                theirs.missing.to_string(),
            ]);
            cells.push(optional(stats::ratio(row.latency.p99_ms, theirs.latency.p99_ms)));
        }
        table.row(cells);
    }
    table
}

fn memory(ours: &Figures, peer: Option<&Figures>) -> Option<Table> {
    let mut table =
        Table::new(&["server", "resident before MiB", "resident after MiB", "peak MiB"]);
    for (name, figures) in [("this", Some(ours)), ("peer", peer)] {
        let Some((idle, after)) =
            figures.and_then(|figures| figures.memory_idle.zip(figures.memory_after))
        else {
            continue;
        };
        let mib = |pick: fn(Memory) -> u64, memory| whole(pick(memory) as f64 / 1024.0);
        let mut cells = vec![name.to_owned(), mib(|memory| memory.resident_kib, idle)];
        cells.extend([
            mib(|memory| memory.resident_kib, after),
            mib(|memory| memory.peak_kib, after),
        ]);
        table.row(cells);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn how(ours: &Figures, peer: Option<&Figures>, plan: &Plan) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let peer =
        peer.map(|peer| format!(" and, in the same run, {}", peer.version)).unwrap_or_default();
    format!(
        "How: server {}{peer}; {cores} cores shared by server and load; each figure {} s; clients with \
         one connection each, a new request as soon as the last is answered; objects of about 1 KiB, {} \
         of them to read, update and list; latencies as the client sees them, parsing included except \
         for lists; delivery from the write's first byte to each watcher's parsed event.\n",
        ours.version,
        plan.length.as_secs(),
        plan.objects,
    )
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// With two digits.
pub fn fine(value: f64) -> String {
    format!("{value:.2}")
}

/// With two digits, or a dash.
pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), fine)
}

/// Cells of text with a head.
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// The titles of the first columns.
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    /// The titles of further columns.
    pub fn head(&mut self, more: &[&str]) {
        self.head.extend(more.iter().map(ToString::to_string));
    }

    /// One more row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// As text.
    pub fn render(&self, style: Style) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&self.head]).filter_map(|row| row.get(column));
            cells.map(String::len).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().enumerate().map(|(column, cell)| {
                let width = widths.get(column).copied().unwrap_or_default();
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            let padded: Vec<String> = padded.collect();
            match style {
                Style::Plain => format!("  {}\n", padded.join("  ").trim_end()),
                Style::Markdown => format!("| {} |\n", padded.join(" | ")),
            }
        };
        let mut text = line(&self.head);
        if style == Style::Markdown {
            let rule = |(column, width): (usize, &usize)| {
                if column == 0 {
                    "-".repeat(*width)
                } else {
                    "-".repeat(width.saturating_sub(1)) + ":"
                }
            };
            let rules: Vec<String> = widths.iter().enumerate().map(rule).collect();
            let _ = writeln!(text, "| {} |", rules.join(" | "));
        }
        for row in &self.rows {
            text += &line(row);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::{Operation, Row};
    use crate::stats::Summary;

    fn figures(per_second: f64) -> Figures {
        let latency = Summary { count: 100, p50_ms: 1.5, p99_ms: 3.25 };
        let (operation, cpu_ms) = (Operation::Create, Some(0.25));
        let row = Row {
            operation,
            clients: 16,
            per_second,
            latency,
            errors: 0,
            first_error: None,
            cpu_ms,
        };
        Figures {
            version: "v1.34.0".to_owned(),
            load: vec![row],
            delivery: vec![],
            memory_idle: None,
            memory_after: None,
        }
    }

    fn plan() -> Plan {
        Plan { clients: vec![16], watchers: vec![], length: Duration::from_secs(5), objects: 1000 }
    }

    #[test]
    fn plain_columns_line_up() {
        let text = render(&figures(1200.0), None, &plan(), Style::Plain);
        let expected = "\
  operation  clients  per second  p50 ms  p99 ms  CPU ms each  errors
  create          16        1200    1.50    3.25         0.25       0
";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("Memory"), "{text}");
    }

    #[test]
    fn a_peer_adds_a_ratio() {
        let text = render(&figures(1200.0), Some(&figures(300.0)), &plan(), Style::Markdown);
        assert!(text.contains("### Requests"), "{text}");
        let row = text.lines().find(|line| line.starts_with("| create")).unwrap_or_default();
        assert!(row.ends_with("4.00 |"), "{row}");
        assert_eq!(row.matches('|').count(), 13);
    }
}

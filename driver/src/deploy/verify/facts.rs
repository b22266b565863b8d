//! Facts about objects, read from a catalog or from the list that this program holds.

use std::collections::BTreeMap;
use std::fmt;

/// The properties of an object; one that a server cannot tell is not there.
pub(super) type Properties = BTreeMap<String, String>;

/// Objects by kind and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts(pub(super) BTreeMap<(String, String), Properties>);

impl Facts {
    /// Reads what [`Display`](fmt::Display) writes: a line for each object, tabs between kind, name and properties.
    pub fn parse(text: &str) -> Self {
        let mut facts = Self::default();
        for line in text.lines() {
            let mut fields = line.split('\t');
            let (kind, object) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
            let properties = fields.filter_map(|field| field.split_once(": "));
            let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
            facts.add(kind.to_owned(), object.to_owned(), properties);
        }
        facts
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn holds_schema(&self) -> bool {
        self.contains("schema", "chokaq")
    }

    pub fn contains(&self, kind: &str, object: &str) -> bool {
        self.0.contains_key(&(kind.to_owned(), object.to_owned()))
    }

    /// Adds a row of a query to what is known about its object.
    pub fn add(&mut self, kind: String, object: String, properties: impl IntoIterator<Item = (String, String)>) {
        self.0.entry((kind, object)).or_default().extend(properties);
    }

    /// With the properties of the same objects that only others can tell.
    pub fn completed_from(mut self, other: &Self) -> Self {
        for (key, properties) in &mut self.0 {
            for (name, value) in other.0.get(key).into_iter().flatten() {
                properties.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        self
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((kind, object), properties) in &self.0 {
            write!(f, "{kind}\t{object}")?;
            for (name, value) in properties {
                write!(f, "\t{name}: {value}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let text = "foreign key\ta.b\nindex\tjobs_hot.ix\tkeys: a, b desc\twhere: x = ': '\n";
        let facts = Facts::parse(text);
        assert_eq!(facts.to_string(), text);
        assert!(facts.contains("foreign key", "a.b"));
    }

    #[test]
    fn what_a_server_cannot_tell_is_taken_from_the_list() {
        let found = Facts::parse("table\ta\towner: x\ntable\tc\n");
        let list = Facts::parse("table\ta\towner: y\tlock_escalation: disable\ntable\tb\n");
        let completed = found.completed_from(&list).to_string();
        assert_eq!(completed, "table\ta\tlock_escalation: disable\towner: x\ntable\tc\n");
    }
}

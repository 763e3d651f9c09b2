//! Reads rules from TOML.

use super::measure::Measure;
use super::rule::{Baseline, Limits, Rules, Section};
use analysis::Share;
use analysis::query::{Anchor, Part, When, bytes_of, nearest};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A rules file that is not valid.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {what}")]
pub struct RulesError {
    file: String,
    what: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    suppressions: Vec<PathBuf>,
    no_default_suppressions: bool,
    older_than: Option<String>,
    baseline: Option<PathBuf>,
    tolerance: Option<String>,
    max_peak: Option<Number>,
    max_leaked: Option<Number>,
    max_unreachable: Option<Number>,
    max_allocations: Option<Number>,
    max_bytes: Option<Number>,
    max_temporary: Option<Number>,
    max_invalid_frees: Option<Number>,
    max_failed: Option<Number>,
    rule: Vec<RuleTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct RuleTable {
    name: Option<String>,
    filter: Option<String>,
    during: Option<String>,
    at: Option<String>,
    from: Option<String>,
    to: Option<String>,
    tolerance: Option<String>,
    max_peak: Option<Number>,
    max_leaked: Option<Number>,
    max_unreachable: Option<Number>,
    max_allocations: Option<Number>,
    max_bytes: Option<Number>,
    max_temporary: Option<Number>,
    max_growth: Option<Number>,
}

/// `1048576` or `"1M"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Text(String),
}

impl Rules {
    /// Reads a rules file; also returns the suppression lists that it names. Paths in it are relative to its
    /// directory.
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key, or a value that cannot be read.
    pub fn from_toml(text: &str, path: &Path) -> Result<(Self, Vec<PathBuf>), RulesError> {
        let error = |what: String| RulesError { file: path.display().to_string(), what };
        let file: File = toml::from_str(text).map_err(|wrong| error(with_nearest(&wrong.to_string())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let lists = file.suppressions.iter().map(|list| folder.join(list)).collect();
        Ok((file.rules(folder).map_err(error)?, lists))
    }
}

impl File {
    fn rules(self, folder: &Path) -> Result<Rules, String> {
        let tolerance = share("tolerance", self.tolerance.as_deref())?;
        if tolerance.is_some() && self.baseline.is_none() {
            return Err("`tolerance` needs a `baseline`".to_owned());
        }
        let mut rules = Rules::default();
        let baseline = self.baseline.map(|file| folder.join(file));
        rules.baseline = baseline.map(|file| Baseline { file, tolerance: tolerance.unwrap_or_default() });
        let is_default = !self.no_default_suppressions;
        (rules.suppressions.of_programs, rules.suppressions.built_in) = (is_default, is_default);
        rules.suppressions.older_than_ns = match self.older_than.as_deref().map(str::parse) {
            None => None,
            Some(Ok(When { anchor: Anchor::Time(age), offset: 0 })) => Some(age),
            Some(_) => return Err("`older-than` must be a time, as in \"10s\"".to_owned()),
        };
        let limits = [
            (Measure::Peak, self.max_peak),
            (Measure::Leaked, self.max_leaked),
            (Measure::Unreachable, self.max_unreachable),
            (Measure::Allocations, self.max_allocations),
            (Measure::Bytes, self.max_bytes),
            (Measure::Temporary, self.max_temporary),
            (Measure::InvalidFrees, self.max_invalid_frees),
            (Measure::Failed, self.max_failed),
        ];
        rules.sections.push(Section { limits: self::limits(limits)?, ..Section::default() });
        let has_age = rules.suppressions.older_than_ns.is_some();
        for (number, table) in (1..).zip(self.rule) {
            let name = table.name.clone().unwrap_or_else(|| format!("number {number}"));
            let section = table.section(rules.baseline.is_some());
            rules.sections.push(section.map_err(|what| format!("rule {name}: {what}"))?);
        }
        if has_age && rules.sections.iter().any(|section| section.limits.has(Measure::Unreachable)) {
            return Err("`max-unreachable` cannot be combined with `older-than`: unreachable blocks are leaked at any age".to_owned());
        }
        Ok(rules)
    }
}

impl RuleTable {
    fn section(self, has_baseline: bool) -> Result<Section, String> {
        let moment = |key: &str, text: Option<String>| -> Result<Option<When>, String> {
            text.map(|text| text.parse()).transpose().map_err(|wrong| format!("`{key}`: {wrong}"))
        };
        let (at, from, to) = (moment("at", self.at)?, moment("from", self.from)?, moment("to", self.to)?);
        let part = match (at, from, to) {
            (None, None, None) => Part::Whole,
            (Some(at), None, None) => Part::At(at),
            (None, from, to) => {
                Part::Range(from.unwrap_or(Anchor::Start.into()), to.unwrap_or(Anchor::End.into()))
            }
            _ => return Err("`at` cannot be combined with `from` or `to`".to_owned()),
        };
        let filter = self.filter.map(|text| text.parse()).transpose();
        let tolerance = share("tolerance", self.tolerance.as_deref())?;
        if tolerance.is_some() && !has_baseline {
            return Err("`tolerance` needs a `baseline`, at the top of the file".to_owned());
        }
        if tolerance.is_some() && self.during.is_some() {
            return Err("`during` cannot be combined with `tolerance`: give limits".to_owned());
        }
        let limits = limits([
            (Measure::Peak, self.max_peak),
            (Measure::Leaked, self.max_leaked),
            (Measure::Unreachable, self.max_unreachable),
            (Measure::Allocations, self.max_allocations),
            (Measure::Bytes, self.max_bytes),
            (Measure::Temporary, self.max_temporary),
            (Measure::Growth, self.max_growth),
        ])?;
        if limits.is_empty() && tolerance.is_none() {
            return Err("no limit given: use `max-peak`, `max-leaked`, `max-unreachable`, `max-allocations`, `max-bytes`, `max-temporary` or `max-growth`".to_owned());
        }
        if (part != Part::Whole || self.during.is_some()) && limits.has(Measure::Unreachable) {
            return Err("`max-unreachable` is about the last scan, and cannot be combined with `during`, `at`, `from` or `to`".to_owned());
        }
        let filter = filter.map_err(|wrong| format!("`filter`: {wrong}"))?;
        Ok(Section { name: self.name, filter, part, during: self.during, limits, tolerance })
    }
}

/// What is wrong with a file; of a key that does not exist, the nearest ones instead of all.
fn with_nearest(wrong: &str) -> String {
    let wrong = wrong.trim_end();
    let Some((before, expected)) = wrong.split_once(", expected ") else { return wrong.to_owned() };
    let Some((_, key)) = before.split_once("unknown field `") else { return wrong.to_owned() };
    let keys = expected.split('`').skip(1).step_by(2);
    match nearest(key.trim_end_matches('`'), keys).as_slice() {
        [] => wrong.to_owned(),
        keys => format!("{before}; did you mean {}?", keys.join(" or ")),
    }
}

fn share(key: &str, text: Option<&str>) -> Result<Option<Share>, String> {
    text.map(|text| text.parse().map_err(|wrong| format!("`{key}`: {wrong}"))).transpose()
}

fn limits(limits: impl IntoIterator<Item = (Measure, Option<Number>)>) -> Result<Limits, String> {
    let mut set = Limits::default();
    for (measure, number) in limits {
        let number = match number {
            None => None,
            Some(Number::Plain(number)) => Some(number),
            Some(Number::Text(text)) => {
                let wrong = || {
                    format!(
                        "`max-{}`: `{text}` is not a number: write it like 4096, \"64K\" or \"1M\"",
                        measure.name()
                    )
                };
                Some(bytes_of(text.trim()).ok_or_else(wrong)?)
            }
        };
        set.set(measure, number);
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<(Rules, Vec<PathBuf>), String> {
        Rules::from_toml(text, Path::new("ci/rules.toml")).map_err(|error| error.to_string())
    }

    /// Check a file with everything in it.
    #[test]
    fn rules_are_read() {
        let text = r#"
            suppressions = ["app.supp"]
            no-default-suppressions = true
            older-than = "10s"
            baseline = "main.memprof"
            tolerance = "5%"
            max-peak = "512M"
            max-leaked = 0

            [[rule]]
            name = "parser"
            filter = "parse* and not cache"
            from = "warm"
            max-growth = "64K"

            [[rule]]
            at = "50%"
            max-allocations = 10
            tolerance = "1%"

            [[rule]]
            during = "load"
            max-peak = "2M"
        "#;
        let (rules, lists) = read(text).unwrap();
        assert_eq!(lists, [Path::new("ci/app.supp")]);
        assert_eq!(
            rules.baseline,
            Some(Baseline { file: "ci/main.memprof".into(), tolerance: Share::percent(5.0) })
        );
        assert!(!rules.suppressions.built_in && !rules.suppressions.of_programs);
        assert_eq!(rules.suppressions.older_than_ns, Some(10_000_000_000));
        let limits: Vec<Vec<(Measure, i64)>> =
            rules.sections.iter().map(|section| section.limits.iter().collect()).collect();
        let expected = [
            vec![(Measure::Peak, 512 << 20), (Measure::Leaked, 0)],
            vec![(Measure::Growth, 64 << 10)],
            vec![(Measure::Allocations, 10)],
            vec![(Measure::Peak, 2 << 20)],
        ];
        assert_eq!(limits, expected);
        assert_eq!(rules.sections[1].part, Part::Range("warm".parse().unwrap(), Anchor::End.into()));
        assert_eq!(rules.sections[2].part, Part::At("50%".parse().unwrap()));
        assert_eq!(rules.sections[2].tolerance, Some(Share::percent(1.0)));
        assert_eq!(rules.sections[3].during.as_deref(), Some("load"));
    }

    /// Check that errors name the file and the key.
    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("max-peek = 1", "unknown field `max-peek`; did you mean max-peak?"),
            ("[[rule]]\nmax-allocs = 1", "did you mean max-allocations?"),
            ("[[rule]]\nbeauty = 1", "unknown field `beauty`, expected one of `name`, `filter`"),
            ("max-peak = \"1X\"", "`max-peak`: `1X` is not a number"),
            ("max-peak = -1", "max-peak"),
            ("tolerance = \"5%\"", "needs a `baseline`"),
            ("older-than = \"peak\"", "`older-than` must be a time"),
            ("[[rule]]\nname = \"a\"", "rule a: no limit given"),
            (
                "[[rule]]\nfilter = \"a and\"\nmax-peak = 1",
                "rule number 1: `filter`: missing name at column 6",
            ),
            ("[[rule]]\nduring = \"a\"\nmax-unreachable = 1", "cannot be combined with `during`"),
            ("[[rule]]\nat = \"1s\"\nto = \"2s\"\nmax-peak = 1", "cannot be combined"),
            ("[[rule]]\nfrom = \"\"\nmax-peak = 1", "`from`: "),
            ("max-peak", "rules.toml: TOML parse error"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with("ci/rules.toml: ") && error.contains(expected), "{text}: {error}");
        }
    }

    proptest! {
        /// Check that any file is read or refused without a panic.
        #[test]
        fn any_file_is_read_or_refused(text in "(\\[\\[rule\\]\\]\n|max-peak|filter|from|tolerance| = |\"|1|5%|a|\n){0,16}") {
            let _ = read(&text);
        }
    }
}

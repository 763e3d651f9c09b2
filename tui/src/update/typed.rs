//! Lines that the user types.

use super::Effect;
use crate::catalogue;
use crate::draw::{copy, plain};
use crate::model::{Model, Page, Prompt, Purpose};
use crate::work::StackRow;
use analysis::query::{Expression, Pattern};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use report::outline::Form;
use std::path::PathBuf;

/// Longest line accepted.
const LONGEST: usize = 4096;

/// Handles a key while a line is typed.
pub(super) fn pressed(model: &mut Model, key: KeyEvent) -> Option<Effect> {
    let prompt = model.prompt.as_mut()?;
    match (key.code, key.modifiers) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), KeyModifiers::CONTROL) => model.prompt = None,
        (KeyCode::Char('u'), KeyModifiers::CONTROL) => prompt.text.clear(),
        (KeyCode::Enter, _) => return entered(model),
        (KeyCode::Backspace, _) => {
            prompt.text.pop();
        }
        (KeyCode::Char(letter), modifiers)
            if !modifiers.contains(KeyModifiers::CONTROL) && prompt.text.len() < LONGEST =>
        {
            prompt.text.push(letter);
        }
        _ => {}
    }
    None
}

/// Pastes a text into the line, without control characters.
pub(super) fn paste(model: &mut Model, text: &str) {
    let Some(prompt) = &mut model.prompt else { return };
    let room = LONGEST.saturating_sub(prompt.text.len());
    prompt.text.extend(text.chars().filter(|letter| !letter.is_control()).take(room));
}

fn entered(model: &mut Model) -> Option<Effect> {
    let prompt = model.prompt.take()?;
    match prompt.purpose {
        Purpose::Search => {
            model.searched = prompt.text;
            search(model);
        }
        Purpose::Filter => filter(model, prompt),
        Purpose::File if prompt.text.is_empty() => {}
        Purpose::File => {
            let path = PathBuf::from(&prompt.text);
            let text = match path.extension().and_then(|extension| extension.to_str()) {
                Some("svg") => copy::picture(model),
                Some("md") => Some(copy::written(model, Form::Markdown, copy::Into::File) + "\n"),
                _ => Some(copy::written(model, Form::Text, copy::Into::File) + "\n"),
            };
            if text.is_none() {
                let error = Some(catalogue::NO_FLAME_GRAPH.to_owned());
                model.prompt = Some(Prompt { error, ..prompt });
            }
            return text.map(|text| Effect::Write(path, text));
        }
    }
    None
}

/// Goes to the next name that contains what a filter would find, or only a part of it, in any case unless the text has
/// capitals.
pub(super) fn search(model: &mut Model) {
    let sought = model.searched.clone();
    if sought.is_empty() {
        return;
    }
    let exact = sought.chars().any(char::is_uppercase);
    let pattern = Pattern::glob(&format!("*{sought}*"));
    let passes =
        |name: &str| if exact { pattern.matches(name) } else { pattern.matches(&name.to_lowercase()) };
    let found = match model.page {
        Page::Functions => model.functions.find(passes),
        Page::Tree => model.pane_mut().find(passes),
        Page::Retained => model.retained_tree.find(passes),
        Page::Flame => find_flame(model, passes),
        Page::Changes => model.changes.find(passes),
        _ => find_row(model, passes),
    };
    if !found {
        model.notice = Some(catalogue::not_found(&sought));
    }
}

fn find_flame(model: &mut Model, passes: impl Fn(&str) -> bool) -> bool {
    // The tree is searched in its own order, and the hit is shown here.
    let found = model.pane_mut().find(passes).then(|| model.pane().selected()).flatten();
    found.into_iter().for_each(|id| model.flame.select(id));
    found.is_some()
}

fn find_row(model: &mut Model, passes: impl Fn(&str) -> bool) -> bool {
    let now = model.cursor_now();
    if let Some(list) = model.list() {
        let count = list.rows.len();
        let places = (1..=count).map(|step| (now.selected + step) % count.max(1));
        let is_it = |row: &StackRow| !row.is_of_others() && passes(&row.name);
        let found = places.into_iter().find(|&place| is_it(&list.rows[place]));
        found.into_iter().for_each(|place| model.cursor().selected = place);
        return found.is_some();
    }
    let Some(document) = model.document() else { return false };
    let count = document.len();
    let is_it = |place: &usize| passes(&plain(&document[*place]));
    let found = (1..=count).map(|step| (now.top + step) % count.max(1)).find(is_it);
    found.into_iter().for_each(|place| model.cursor().top = place);
    found.is_some()
}

/// Asks for a filter expression, beginning with the present one.
pub(super) fn ask_filter(model: &mut Model) {
    let present = model.question.lens.filter.as_ref().map(ToString::to_string);
    model.prompt = Some(Prompt::new(Purpose::Filter, present.unwrap_or_default()));
}

fn filter(model: &mut Model, prompt: Prompt) {
    let expression = match prompt.text.trim() {
        "" => None,
        text => match text.parse::<Expression>() {
            Ok(expression) => Some(expression),
            Err(error) => {
                // The input stays, to be corrected.
                let error = Some(error.to_string().lines().next().unwrap_or_default().to_owned());
                model.prompt = Some(Prompt { error, ..prompt });
                return;
            }
        },
    };
    model.leave();
    model.question.lens.filter = expression;
}

/// Asks for the name of a file to write the page to.
pub(super) fn ask_file(model: &mut Model) {
    let name = if model.graph().is_some() { "flame.svg" } else { "page.md" };
    model.prompt = Some(Prompt::new(Purpose::File, name.to_owned()));
}

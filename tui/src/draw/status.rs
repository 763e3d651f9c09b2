//! The lines above and below every page.

use super::{Theme, put, put_at, tint};
use crate::catalogue;
use crate::keys;
use crate::model::{Model, Page, layout};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use report::text::escape;

/// The least columns for the file's name.
const NAME: u16 = 12;

/// The file, and which part of it is shown.
pub(super) fn title(buffer: &mut Buffer, area: Rect, model: &Model, theme: &Theme) {
    let about = format!(" {} ", about(model));
    let width = u16::try_from(report::text::columns(&about)).unwrap_or(area.width).min(area.width);
    put_at(buffer, area, area.width - width, 0, &about, theme.heading().patch(theme.value()));
    let area = Rect { width: area.width - width, ..area };
    let view = model.view();
    // Lost events must be seen, however long the names are.
    let lost = view.as_ref().is_some_and(|view| view.loaded.lost_events() > 0);
    let warning = if lost { format!("  {}", catalogue::EVENTS_WERE_LOST) } else { String::new() };
    let room = area.width.saturating_sub(u16::try_from(warning.len()).unwrap_or(u16::MAX));
    let names = Rect { width: room.max(NAME.min(area.width)), ..area };
    let mut column = put(buffer, names, 0, &model.file, theme.heading());
    if let Some(baseline) = &model.baseline {
        column = put_at(buffer, names, column, 0, &format!("  since {baseline}"), theme.detail());
    }
    column = put_at(buffer, area, column, 0, &warning, theme.warning());
    let command = view.map(|view| view.loaded.tables.metadata.command.join(" ")).unwrap_or_default();
    if !command.is_empty() && model.screen.width >= 100 {
        put_at(buffer, area, column, 0, &format!("  {}", escape(&command)), theme.detail());
    }
}

/// What the page is about, briefly.
pub(crate) fn about(model: &Model) -> String {
    if model.page.is_of_scans() {
        let number = model.scan().map(|number| catalogue::scan_number(number, model.scans()));
        return number.unwrap_or_else(|| catalogue::NO_SCAN_SHORT.to_owned());
    }
    let mut words = model.question.chosen();
    words.push(model.question.metric.name().to_owned());
    if model.view().is_some_and(|view| view.loaded.profile.sampling.is_some()) {
        words.push(catalogue::ESTIMATED.to_owned());
    }
    words.join(" · ")
}

/// The tabs.
pub(super) fn tabs(buffer: &mut Buffer, area: Rect, model: &Model, theme: &Theme) {
    let mut column = 0;
    for tab in &Page::TABS {
        let is_shown = tab.0 == model.page.tab() && model.help.is_none();
        let style = if is_shown { theme.selected(true) } else { theme.detail() };
        column = put_at(buffer, area, column, 0, &layout::tab_title(tab, area.width), style) + 1;
    }
}

/// What the user types, what just happened, or the keys of this page.
pub(super) fn footer(buffer: &mut Buffer, area: Rect, model: &Model, theme: &Theme) {
    if let Some(prompt) = &model.prompt {
        let text = escape(&prompt.text);
        let column = put(buffer, area, 0, prompt.purpose.label(), theme.heading());
        // Of a line that is too long, the end is shown, where the user types.
        let room = usize::from(area.width.saturating_sub(column + 1));
        let skip = text.chars().count().saturating_sub(room);
        let seen: String = text.chars().skip(skip).collect();
        let column = put_at(buffer, area, column, 0, &seen, Style::new());
        let column = put_at(buffer, area, column, 0, " ", theme.selected(true));
        if let Some(error) = &prompt.error {
            put_at(buffer, area, column + 1, 0, error, theme.warning());
        }
        return;
    }
    if model.is_busy {
        tint(buffer, area, 0, theme.heading());
        put(buffer, area, 0, catalogue::COUNTING, theme.heading());
        return;
    }
    match &model.notice {
        Some(notice) => put(buffer, area, 0, &escape(notice), theme.heading()),
        None if model.help.is_some() => put(buffer, area, 0, keys::IN_HELP, theme.detail()),
        None => put(buffer, area, 0, keys::hints(model.page), theme.detail()),
    };
}

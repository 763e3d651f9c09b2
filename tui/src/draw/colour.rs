//! Colours: few, from the terminal's own palette or the 256 of old, and none where the user wants none.

use crate::work::Tone;
use capture::ProcessId;
use ratatui::style::{Color, Modifier, Style};
use viewer::analysis::Kind;

/// Shades for the functions of one process. The hues can be told apart by those who see no difference between red and
/// green; they are those of Okabe and Ito as near as the palette has them.
const HUES: [[u8; 3]; 7] = [
    [214, 215, 179],
    [74, 110, 67],
    [36, 72, 78],
    [227, 186, 185],
    [32, 68, 75],
    [173, 209, 137],
    [175, 139, 182],
];

/// How things look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme {
    /// False: bold, dim and reversed only.
    pub(crate) color: bool,
}

impl Theme {
    fn fg(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// A heading.
    pub(crate) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What is not so important.
    pub(crate) fn detail(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The number that a row is about.
    pub(crate) fn value(self) -> Style {
        self.fg(Color::Yellow)
    }

    /// A name to look at.
    pub(crate) fn name(self) -> Style {
        self.fg(Color::Cyan)
    }

    /// Something that is wrong.
    pub(crate) fn warning(self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The row that keys are about, in the list that they are about.
    pub(crate) fn selected(self, has_focus: bool) -> Style {
        match has_focus {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new().add_modifier(Modifier::UNDERLINED),
        }
    }

    /// A line of a text.
    pub(crate) fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Heading => self.heading(),
            Tone::Value => self.value(),
            Tone::Name => self.name(),
            Tone::Detail => self.detail(),
            Tone::Warning => self.warning(),
        }
    }

    /// The name of a function: those that nobody wrote are in italics.
    pub(crate) fn of_kind(self, kind: Kind) -> Style {
        match kind {
            Kind::Function(..) => self.name(),
            Kind::Process => self.heading(),
            _ => self.generated(),
        }
    }

    /// A name that nobody wrote.
    pub(crate) fn generated(self) -> Style {
        Style::new().add_modifier(Modifier::ITALIC)
    }

    /// A cell of a flame graph: the hue is its process', the shade its function's.
    pub(crate) fn cell(self, process: Option<ProcessId>, shade: u32, is_selected: bool) -> Style {
        if !self.color {
            return if is_selected { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        }
        if is_selected {
            return Style::new().fg(Color::Black).bg(Color::White).add_modifier(Modifier::BOLD);
        }
        let background = process.map_or(Color::Indexed(250), |process| self.hue(process, shade));
        Style::new().fg(Color::Black).bg(background)
    }

    /// What changed, from −1, where all of it shrank, to 1, where all of it grew: blue or orange, which those who see no
    /// difference between red and green can tell apart, the stronger the clearer. A sign says the same beside it.
    pub(crate) fn change(self, share: f64, is_selected: bool) -> Style {
        const SHRANK: [u8; 3] = [153, 110, 67];
        const GREW: [u8; 3] = [223, 215, 208];
        if !self.color || is_selected {
            return self.cell(None, 0, is_selected);
        }
        let strength = ((share.abs() * 3.0) as usize).min(2);
        let background = match share {
            share if share > 0.0 => GREW[strength],
            share if share < 0.0 => SHRANK[strength],
            _ => 250,
        };
        Style::new().fg(Color::Black).bg(Color::Indexed(background))
    }

    /// The colour of a process.
    pub(crate) fn process(self, process: ProcessId) -> Style {
        self.fg(self.hue(process, 0))
    }

    fn hue(self, process: ProcessId, shade: u32) -> Color {
        let shades = HUES[process.index() % HUES.len()];
        Color::Indexed(shades[shade as usize % shades.len()])
    }

    /// The heap on the axis of time, and what is beside it.
    pub(crate) fn track(self, track: usize) -> Style {
        self.fg([Color::Indexed(214), Color::Indexed(74), Color::Indexed(36)][track % 3])
    }

    /// What is between the cursors.
    pub(crate) fn range(self) -> Style {
        if self.color { Style::new().bg(Color::Indexed(236)) } else { Style::new() }
    }

    /// A cursor of the axis of time.
    pub(crate) fn cursor(self, is_active: bool) -> Style {
        let style = if self.color { Style::new().bg(Color::Indexed(31)) } else { Style::new() };
        if is_active {
            style.add_modifier(Modifier::REVERSED)
        } else {
            style.add_modifier(Modifier::UNDERLINED)
        }
    }
}

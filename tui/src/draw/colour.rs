//! Colours: few, from the terminal's own palette or the 256-colour one, and none where the user wants none.

use analysis::Kind;
use capture::ProcessId;
use ratatui::style::{Color, Modifier, Style};
use report::text::Role;

/// Hues of processes, shaded by function. They can be told apart by people with red-green blindness: those of Okabe
/// and Ito, as near as the palette has them.
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
    /// False: only bold, dim and reversed.
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

    /// Something less important.
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

    /// A warning.
    pub(crate) fn warning(self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The selected row, in the list with the focus or in another.
    pub(crate) fn selected(self, has_focus: bool) -> Style {
        match has_focus {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new().add_modifier(Modifier::UNDERLINED),
        }
    }

    /// A line of a text.
    pub(crate) fn tone(self, tone: Role) -> Style {
        match tone {
            Role::Plain => Style::new(),
            Role::Heading => self.heading(),
            Role::Value => self.value(),
            Role::Function => self.name(),
            Role::Detail => self.detail(),
            Role::Warning => self.warning(),
        }
    }

    /// The name of a function: italic if it is generated.
    pub(crate) fn of_kind(self, kind: Kind) -> Style {
        match kind {
            Kind::Function(..) => self.name(),
            Kind::Process => self.heading(),
            _ => self.generated(),
        }
    }

    /// A generated name.
    pub(crate) fn generated(self) -> Style {
        Style::new().add_modifier(Modifier::ITALIC)
    }

    /// A cell of a flame graph: the process sets the hue, the function its shade.
    pub(crate) fn cell(self, process: Option<ProcessId>, shade: u32, is_selected: bool) -> Style {
        if !self.color {
            return if is_selected { self.selected(true) } else { Style::new() };
        }
        if is_selected {
            return Style::new().fg(Color::Black).bg(Color::White).add_modifier(Modifier::BOLD);
        }
        let background = process.map_or(Color::Indexed(250), |process| self.hue(process, shade));
        Style::new().fg(Color::Black).bg(background)
    }

    /// A change, from −1, where everything shrank, to 1, where everything grew: blue or orange, which people with
    /// red-green blindness can tell apart, the stronger the clearer. A sign beside it says the same.
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

    /// A track of the timeline: the heap, and others.
    pub(crate) fn track(self, track: usize) -> Style {
        self.fg([Color::Indexed(214), Color::Indexed(74), Color::Indexed(36)][track % 3])
    }

    /// The range between the cursors.
    pub(crate) fn range(self) -> Style {
        if self.color { Style::new().bg(Color::Indexed(236)) } else { Style::new() }
    }

    /// A cursor on the time axis.
    pub(crate) fn cursor(self, is_active: bool) -> Style {
        let style = if self.color { Style::new().bg(Color::Indexed(31)) } else { Style::new() };
        style.patch(self.selected(is_active))
    }
}

//! The script of a page: the modules of `assets/` joined into one.
//!
//! Each module keeps a scope of its own, so names need only be unique where they are used, and the files are ordinary
//! modules that other programs can load as they are:
//!
//! ```text
//!  import { a, b } from "./x.js";         const { a, b } = $x;
//!  export function f() {}         ──►     function f() {}            in   const $y = (() => { …; return { f }; })();
//! ```

/// Files of `assets/`, each with its name.
macro_rules! modules {
    ($($name:ident)+) => {
        [$((stringify!($name), include_str!(concat!("assets/", stringify!($name), ".js")))),+]
    };
}

/// The modules, each after those that it imports.
const MODULES: [(&str, &str); 45] = modules! {
    text format source loader data metric tree scan rows outline copy flame svg squares state places
    curves selection named page dom colour table overview tracks timeline flame_view tree_view
    treemap_view drawing graph_view stacks_view tables_view spectrum_view marks_view ends details map_view
    retained retained_lists retained_tree_view retained_details retained_view function_view main
};

/// The whole script.
pub(super) fn script() -> String {
    MODULES.iter().fold(String::from("\"use strict\";\n"), |mut script, (name, module)| {
        add(&mut script, name, module);
        script
    })
}

fn add(script: &mut String, name: &str, module: &str) {
    let mut exported = Vec::new();
    script.push_str(&format!("const ${name} = (() => {{\n"));
    for line in module.lines() {
        if let Some((names, from)) = import(line) {
            script.push_str(&format!("const {names} = ${from};\n"));
            continue;
        }
        let declaration = line.strip_prefix("export ");
        exported.extend(declaration.and_then(declared));
        script.push_str(declaration.unwrap_or(line));
        script.push('\n');
    }
    script.push_str(&format!("return {{ {} }};\n}})();\n", exported.join(", ")));
}

/// The names in braces, and the module, of an import.
fn import(line: &str) -> Option<(&str, &str)> {
    let (names, from) = line.strip_prefix("import ")?.split_once(" from ")?;
    Some((names, from.strip_prefix("\"./")?.strip_suffix(".js\";")?))
}

/// The name that a line declares.
fn declared(line: &str) -> Option<&str> {
    let kinds = ["async function ", "function ", "class ", "const "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    /// Check how a module becomes a scope.
    #[test]
    fn modules_become_scopes() {
        let mut script = String::new();
        add(
            &mut script,
            "y",
            "import { a } from \"./x.js\";\nexport function f(b) {\n}\nexport const C = a;\n",
        );
        assert_eq!(
            script,
            "const $y = (() => {\nconst { a } = $x;\nfunction f(b) {\n}\nconst C = a;\nreturn { f, C };\n})();\n"
        );
    }

    /// Check that every module finds its imports in earlier modules, and uses them.
    #[test]
    fn imports_are_there_before() {
        let mut known: HashMap<&str, HashSet<&str>> = HashMap::new();
        for (name, module) in MODULES {
            for line in module.lines().filter(|line| line.starts_with("import")) {
                let (names, from) = import(line).unwrap_or_else(|| panic!("{name}: {line}"));
                for imported in names.trim_matches(['{', '}', ' ']).split(", ") {
                    assert!(known.get(from).is_some_and(|names| names.contains(imported)), "{name}: {line}");
                    assert!(module.matches(imported).count() > 1, "{name} does not use {imported}");
                }
            }
            let exports = module.lines().filter_map(|line| declared(line.strip_prefix("export ")?));
            known.insert(name, exports.collect());
        }
    }

    /// Check that no module turns text into markup or code, or makes requests.
    #[test]
    fn text_stays_text() {
        let dangers = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "setTimeout(\"",
            "fetch(",
            "XMLHttpRequest",
            "WebSocket",
            "EventSource",
            "sendBeacon",
            "import(",
            "</script",
        ];
        for (name, module) in MODULES {
            // One module requests data from the server that the page came from, if any: the policy of a file forbids
            // it.
            let asks = |danger: &str| name == "source" && danger == "fetch(";
            for danger in dangers.into_iter().filter(|danger| !asks(danger)) {
                assert!(!module.contains(danger), "{name} has {danger}");
            }
        }
    }
}

// What keeps what, as a table in which any rows can be open.

import { el } from "./dom.js";
import { amount, counted, percent } from "./format.js";
import { otherThan } from "./metric.js";
import { called } from "./retained_lists.js";
import { bar } from "./overview.js";
import { TEXT } from "./text.js";
import { TreeView } from "./tree_view.js";

export class RetainedTreeView extends TreeView {
  constructor(kept) {
    const { columns } = TEXT.retained;
    super(kept, {
      name: "kept",
      label: TEXT.views.retained,
      columns: [
        { key: "total", title: columns.all, className: "number", sortable: true, help: columns.allHelp },
        { key: "share", title: columns.share, className: "number quiet share", help: columns.shareHelp },
        { key: "bar", title: "", className: "bar-cell" },
        { key: "self", title: columns.own, className: "number", help: columns.ownHelp },
        { key: "other", title: "", className: "number other", help: columns.ownHelp },
        { key: "name", title: columns.kept, className: "name", sortable: true },
      ],
    });
  }

  update() {
    this.table.columns[4].title = TEXT.units[otherThan(this.page.state.unit)].toLowerCase();
    super.update();
  }

  cell(row, key) {
    const { value } = this.shown;
    if (key === "share") return percent(value[row.node], this.page.whole(row.node));
    if (key === "bar") return bar(value[row.node] / this.page.whole(row.node));
    if (key !== "other") return super.cell(row, key);
    const other = otherThan(this.page.state.unit);
    const own = this.page.scan.kept.own[other][row.node];
    return own === 0 ? "" : amount(own, other);
  }

  nameCell(node, level, tree) {
    const cells = super.nameCell(node, level, tree);
    const hidden = this.page.scan.kept.hidden[node];
    if (hidden) return [...cells, el("span", { class: "quiet" }, TEXT.retained.folded(counted(hidden, TEXT.nouns.row)))];
    // Stacks may differ only in the library function that was called.
    return cells.toSpliced(-1, 0, called(this.page.name(tree.label[node]).by));
  }
}

// Zooms and searches a flame graph: a click widens a box to the full width, `search` highlights boxes that match a
// regular expression.
"use strict";
window.addEventListener("load", () => {
  const width = document.documentElement.viewBox.baseVal.width, letter = 7.0;
  const id = (name) => document.getElementById(name);
  const boxes = Array.from(document.querySelectorAll(".box"), (group) => {
    const rect = group.querySelector("rect"), text = group.querySelector("text");
    const number = (name) => Number(rect.getAttribute(name));
    return {
      group, rect, text, x: number("x"), y: number("y"), width: number("width"),
      name: text.getAttribute("data-name"), title: group.querySelector("title").textContent,
    };
  });
  const details = id("details"), note = details.textContent;

  function place(box, x, wide) {
    const letters = Math.floor((wide - 6) / letter), name = Array.from(box.name);
    box.rect.setAttribute("x", x);
    box.rect.setAttribute("width", wide);
    box.text.setAttribute("x", x + 3);
    box.text.textContent =
      name.length <= letters ? box.name : letters < 3 ? "" : name.slice(0, letters - 1).join("") + "…";
  }

  // Shows a box and its callees, with its callers above it at full width.
  function zoom(to) {
    const scale = width / to.width, near = 0.02;
    for (const box of boxes) {
      const holds = box.x <= to.x + near && box.x + box.width >= to.x + to.width - near;
      const within = box.x >= to.x - near && box.x + box.width <= to.x + to.width + near;
      const shown = box.y < to.y ? holds : within;
      box.group.style.display = shown ? "" : "none";
      if (shown && box.y < to.y) place(box, 0, width);
      else if (shown) place(box, (box.x - to.x) * scale, box.width * scale);
    }
    id("reset").setAttribute("visibility", to === boxes[0] ? "hidden" : "visible");
  }

  // Highlights matches, and shows their share of the whole; a match within another one is not counted again.
  function search() {
    const wanted = prompt("Functions (a regular expression):", "");
    if (wanted === null) return;
    let found = () => false;
    try {
      if (wanted) { const expression = new RegExp(wanted); found = (box) => expression.test(box.title); }
    } catch (error) {
      details.textContent = String(error);
      return;
    }
    let sum = 0, last = -1;
    const hits = boxes.filter((box) => box.group.classList.toggle("found", found(box)));
    for (const box of hits.sort((a, b) => a.x - b.x || b.width - a.width)) {
      if (box.x + box.width > last + 0.01 && box.x >= last - 0.01) { sum += box.width; last = box.x + box.width; }
    }
    details.textContent = wanted ? `${(100 * sum / width).toFixed(1)} % in ${hits.length} boxes match ${wanted}` : note;
  }

  for (const box of boxes) {
    place(box, box.x, box.width);
    box.group.addEventListener("click", () => zoom(box));
    box.group.addEventListener("mouseover", () => { details.textContent = box.title; });
    box.group.addEventListener("mouseout", () => { details.textContent = note; });
  }
  id("reset").addEventListener("click", () => zoom(boxes[0]));
  id("search").addEventListener("click", search);
});

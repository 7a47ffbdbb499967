// What a phone needs beyond the style sheet: wide pictures scroll, and wide tables become cards.
const PHONE = window.matchMedia("(max-width: 600px)");
const PANELS = 1.6; // width / height of a picture from which on it has several panels
const LARGE = 880; // pixels: a picture that is less wide has large words
const SHRUNK = 0.6; // of its size, at which the words of a picture can still be read
const COLUMNS = 4; // a table with more of them is one of numbers, and scrolls

function scrollable(picture) {
  const { naturalWidth: width, naturalHeight: height } = picture;
  if (width < LARGE || width < PANELS * height) return;
  const whole = picture.closest("a") ?? picture;
  const frame = document.createElement("div");
  frame.className = "wide-picture";
  frame.style.setProperty("--width", `${SHRUNK * width}px`);
  whole.replaceWith(frame);
  frame.append(whole);
}

function stacked(table) {
  const box = table.parentElement;
  const heads = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
  const isWide = box.scrollWidth > box.clientWidth + 1;
  if (!PHONE.matches || !isWide || heads.length > COLUMNS) return;
  for (const row of table.tBodies[0].rows) {
    heads.forEach((head, i) => row.cells[i]?.setAttribute("data-head", head));
  }
  table.classList.add("cards");
}

document.addEventListener("DOMContentLoaded", () => {
  const others = ".sphx-glr-thumbcontainer, table";
  for (const picture of document.querySelectorAll(".bd-article img")) {
    if (picture.closest(others) || picture.matches(".left-half, .right-half")) continue;
    if (picture.complete) scrollable(picture);
    else picture.addEventListener("load", () => scrollable(picture), { once: true });
  }
  // Equations widen a table after the page has been read.
  const watch = new ResizeObserver((seen) => seen.forEach((one) => stacked(one.target)));
  for (const table of document.querySelectorAll(".bd-article table.table")) {
    if (table.tHead && table.tBodies.length) watch.observe(table);
  }
});

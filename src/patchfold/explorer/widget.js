// The page is a document of its own. It says when it is ready, and its selection after it was
// asked.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", model.get("sandbox"));
  frame.title = "patchfold explorer";
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.srcdoc = model.get("html");
  const tell = () => {
    const rows = model.get("selection");
    frame.contentWindow?.postMessage({ patchfold: { rows } }, "*");
  };
  const hear = (event) => {
    const words = event.data?.patchfold;
    if (event.source !== frame.contentWindow || !words) return;
    if (words.ready) tell();
    if (!Array.isArray(words.rows)) return;
    model.set("selection", words.rows);
    model.save_changes();
  };
  window.addEventListener("message", hear);
  model.on("change:selection", tell);
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:selection", tell);
  };
}
export default { render };

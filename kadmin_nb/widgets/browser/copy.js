// A text to be copied, whole, without the clipboard of secure pages. It is only ever set as a value, never as markup.

function render({ model, el }) {
  el.classList.add("kc");
  el.dataset.lmSuppressShortcuts = "true";
  const box = document.createElement("textarea");
  const button = document.createElement("button");
  const status = document.createElement("span");
  box.readOnly = true;
  box.spellcheck = false;
  button.type = "button";
  button.textContent = "Copy";
  button.className = "jupyter-button widget-button";
  status.setAttribute("role", "status");
  el.append(box, button, status);

  function show() {
    box.value = model.get("text");
    box.rows = Math.min(14, box.value.split("\n").length);
    box.setAttribute("aria-label", model.get("label"));
    status.textContent = "";
    el.hidden = !box.value;
  }

  button.addEventListener("click", () => {
    box.focus();
    box.select();
    status.textContent = document.execCommand("copy") ? "copied" : "selected: press Ctrl-C";
  });
  for (const name of ["keydown", "keyup", "keypress", "copy"]) el.addEventListener(name, (event) => event.stopPropagation());
  model.on("change:text", show);
  model.on("change:label", show);
  show();
  return () => {
    model.off("change:text", show);
    model.off("change:label", show);
  };
}

export default { render };

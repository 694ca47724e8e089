// Lines that tell what came of an action. The element stays, so that a screen reader speaks whenever its text changes.

function render({ model, el }) {
  const line = document.createElement("div");
  line.className = "ks";
  line.setAttribute("role", "status");
  el.append(line);
  const show = () => {
    line.textContent = model.get("text");
    line.classList.toggle("ks-bad", !model.get("ok") && line.textContent !== "");
  };
  model.on("change:text change:ok", show);
  show();
  return () => model.off("change:text change:ok", show);
}

export default { render };

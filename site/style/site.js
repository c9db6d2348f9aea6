/* What Furo leaves to a mouse: boxes that scroll sideways, and the buttons of a narrow window. */
"use strict";
function reachBoxes() {
    for (const box of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, p:has(> img)")) {
        if (box.scrollWidth > box.clientWidth + 2) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
    }
}
document.addEventListener("toggle", reachBoxes, true); // (a fold that opens)
window.addEventListener("resize", reachBoxes);
window.addEventListener("load", () => {
    reachBoxes();
    for (const label of document.querySelectorAll("label[for^=__]:not(.overlay)")) {
        label.tabIndex = 0;
        label.role = "button";
        label.addEventListener("keydown", event => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            label.click();
        });
    }
});

/* What scrolls sideways is reached by keys, too. */
"use strict";
const BOXES = "pre, .table-wrapper, .math-wrapper, p:has(> img)"; // as in site.css
function reachBoxes() {
    for (const box of document.querySelectorAll(BOXES)) {
        if (box.scrollWidth > box.clientWidth + 2) box.tabIndex = 0;
        else box.removeAttribute("tabindex");
    }
}
document.addEventListener("toggle", reachBoxes, true); // (a fold that opens)
window.addEventListener("resize", reachBoxes);
window.addEventListener("load", reachBoxes);

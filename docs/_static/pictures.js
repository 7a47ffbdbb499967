// On a phone, a picture with several panels would be too small to read. It gets a frame to scroll in.
const PANELS = 1.6; // width / height of a picture from which on it has several panels

function frame(picture) {
  if (picture.naturalWidth < PANELS * picture.naturalHeight) return;
  const whole = picture.closest("a") ?? picture;
  const wide = document.createElement("div");
  wide.className = "wide-picture";
  whole.replaceWith(wide);
  wide.append(whole);
}

document.addEventListener("DOMContentLoaded", () => {
  const thumbnails = ".sphx-glr-thumbcontainer, table";
  for (const picture of document.querySelectorAll(".bd-article img")) {
    if (picture.closest(thumbnails)) continue;
    if (picture.matches(".left-half, .right-half")) continue;
    if (picture.complete) frame(picture);
    else picture.addEventListener("load", () => frame(picture), { once: true });
  }
});

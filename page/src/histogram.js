// A histogram of a column: the rows that all other filters leave, and before them those that are seen.

const BINS = 36;
const HEIGHT = 34; // of its box; bars are stretched to the width
const SVG = "http://www.w3.org/2000/svg";

/**
 * How many rows are in each bin of a scale; what lies beyond its ends is in the outermost.
 * @param {import("./coloring.js").Scale} scale
 * @param {(row: number) => boolean} counts
 */
export function binned(scale, counts) {
  const bins = new Uint32Array(BINS);
  for (let row = 0; row < scale.values.length; row++) {
    const share = scale.share(row);
    if (!Number.isNaN(share) && counts(row)) bins[Math.min(Math.max(Math.floor(share * BINS), 0), BINS - 1)]++;
  }
  return bins;
}

export class Histogram {
  /** @param {import("./coloring.js").Scale} scale */
  constructor(scale) {
    this.scale = scale;
    this.element = document.createElementNS(SVG, "svg");
    this.element.setAttribute("class", "histogram");
    this.element.setAttribute("viewBox", `0 0 ${BINS} ${HEIGHT}`);
    this.element.setAttribute("preserveAspectRatio", "none");
    this.element.setAttribute("aria-hidden", "true");
    const all = binned(scale, () => true);
    this.most = Math.max(...all, 1);
    this.left = this.path("left", all);
    this.seen = this.path("seen");
  }

  /**
   * @param {string} name
   * @param {ArrayLike<number>} [bins]
   */
  path(name, bins = []) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    path.setAttribute("d", this.shape(bins));
    this.element.append(path);
    return path;
  }

  /** @param {ArrayLike<number>} bins */
  shape(bins) {
    return Array.from(bins, (count, bin) => {
      // A root: a bin of a few rows is seen beside one of thousands.
      const high = HEIGHT * Math.sqrt(count / this.most);
      return count ? `M${bin + 0.06} ${HEIGHT}v${-high.toFixed(2)}h0.88v${high.toFixed(2)}z` : "";
    }).join("");
  }

  /**
   * @param {(row: number) => boolean} left
   * @param {(row: number) => boolean} seen
   */
  draw(left, seen) {
    this.left.setAttribute("d", this.shape(binned(this.scale, left)));
    this.seen.setAttribute("d", this.shape(binned(this.scale, seen)));
  }
}

// How many points are drawn while they move: as many as leave time for 60 frames a second.

const [IN_TIME, LATE] = [18, 22]; // milliseconds a frame
const [FEWEST_POINTS, FIRST_POINTS, MOST_POINTS] = [8000, 40_000, 2_000_000];

export class Pace {
  /** @param {number} n points */
  constructor(n) {
    this.n = n;
    this.pace = IN_TIME;
    this.last = 0; // when the last frame on the move was
    this.late = false; // frames have come late once: on the move, points are not added up
    this.budget = FIRST_POINTS; // points that are drawn while they move
  }

  /** Whether points move on a machine that is not quick. */
  get hurried() {
    return this.late && this.last > 0;
  }

  /**
   * Every how many points one is drawn: all at rest, as many as frames leave time for on the move.
   * @param {number} now
   * @param {boolean} moving
   */
  thinning(now, moving) {
    const moved = this.last;
    this.last = moving ? now : 0;
    if (!this.last) return 1;
    if (moved) this.pace = 0.7 * this.pace + 0.3 * Math.min(now - moved, 200);
    this.late ||= this.pace > LATE;
    if (this.pace > LATE) this.budget = Math.max(0.7 * Math.min(this.budget, this.n), FEWEST_POINTS);
    if (this.pace < IN_TIME) this.budget = Math.min(1.2 * this.budget, MOST_POINTS);
    return this.budget < this.n ? Math.ceil(this.n / this.budget) : 1;
  }
}

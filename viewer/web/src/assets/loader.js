// Loads one thing at a time: of several requests in quick succession only the last one is completed.

export class Loader {
  /**
   * `load(wish, signal)` returns a promise, abortable by the signal; `show(found, wish)` gets the result,
   * `fail(error)` an error. Once `left` is aborted, since the reader has left this page, what arrives is ignored.
   */
  constructor(load, show, fail, left) {
    Object.assign(this, { load, show, fail, left });
    left?.addEventListener("abort", () => this.stop?.abort());
    /** Loads in progress, the most that ever were at once, and all that were begun. */
    this.counts = { active: 0, most: 0, begun: 0 };
    this.next = null;
    this.isAtWork = false;
  }

  /** Requests something. A load in progress is aborted, and a waiting request is dropped. */
  ask(wish) {
    this.next = { wish };
    this.stop?.abort();
    if (!this.isAtWork) this.work();
  }

  async work() {
    this.isAtWork = true;
    try {
      while (this.next) {
        const { wish } = this.next;
        this.next = null;
        const found = await this.one(wish);
        // A later request has arrived: this result is obsolete.
        if (this.next || this.left?.aborted) continue;
        if (found.error) this.fail(found.error);
        else this.show(found.data, wish);
      }
    } finally {
      // The callbacks may throw: later requests must be loaded all the same.
      this.isAtWork = false;
    }
  }

  async one(wish) {
    const { counts } = this;
    this.stop = new AbortController();
    counts.begun += 1;
    counts.active += 1;
    counts.most = Math.max(counts.most, counts.active);
    try {
      return { data: await this.load(wish, this.stop.signal) };
    } catch (error) {
      return { error };
    } finally {
      counts.active -= 1;
    }
  }
}

// Loads one thing at a time: of many wishes that come one after the other only the last is fulfilled.

export class Loader {
  /** `load(wish, signal)` promises what was wished for, until the signal; `show(found, wish)` gets it, `fail(error)` what went wrong. */
  constructor(load, show, fail) {
    Object.assign(this, { load, show, fail });
    /** Loads that go on now, the most that ever did at once, and all that were begun. */
    this.counts = { active: 0, most: 0, begun: 0 };
    this.next = null;
    this.isAtWork = false;
  }

  /** Wishes for something. What is being loaded is given up, and what waited is forgotten. */
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
        // A later wish came meanwhile: nobody wants to see this one.
        if (this.next) continue;
        if (found.error) this.fail(found.error);
        else this.show(found.data, wish);
      }
    } finally {
      // Whoever is told may throw: what is wished for after that is loaded all the same.
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

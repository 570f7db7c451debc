/**
 * Counts who listens to runs at once, over streams and long polls: so many in all, so many a
 * tenant.
 */

/** Bounds of an audience. */
export interface AudienceLimits {
  readonly all: number;
  readonly perTenant: number;
}

const LIMITS: AudienceLimits = { all: 1024, perTenant: 256 };

export class Audience {
  readonly #limits: AudienceLimits;
  readonly #byTenant = new Map<string, number>();
  #all = 0;

  constructor(limits: AudienceLimits = LIMITS) {
    this.#limits = limits;
  }

  /** Undefined: there is no place left. Whoever got one gives it back once. */
  enter(tenant: string): (() => void) | undefined {
    const there = this.#byTenant.get(tenant) ?? 0;
    if (this.#all >= this.#limits.all || there >= this.#limits.perTenant) return undefined;
    this.#all += 1;
    this.#byTenant.set(tenant, there + 1);
    return () => {
      this.#all -= 1;
      const left = (this.#byTenant.get(tenant) ?? 1) - 1;
      if (left === 0) this.#byTenant.delete(tenant);
      else this.#byTenant.set(tenant, left);
    };
  }
}

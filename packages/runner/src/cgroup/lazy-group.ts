import { LimitUnavailableError } from "./files.ts";
import { SharedGroup } from "./shared-group.ts";

/** A cgroup that is created when the first sandbox is about to join it. `T` includes a replacement for it. */
export class LazyGroup<T extends SharedGroup | string> {
  readonly #make: () => T | undefined;
  readonly #onUnavailable: (error: LimitUnavailableError) => T | undefined;
  #group: { readonly value: T | undefined } | undefined;

  /** @param onUnavailable called once if no group can be created. Returns the replacement. */
  constructor(make: () => T | undefined, onUnavailable: (error: LimitUnavailableError) => T | undefined) {
    this.#make = make;
    this.#onUnavailable = onUnavailable;
  }

  /** Undefined if there is no group. Call it when the sandbox host is ready. */
  group(): T | undefined {
    this.#group ??= { value: this.#open() };
    return this.#group.value;
  }

  close(): void {
    if (this.#group?.value instanceof SharedGroup) this.#group.value.remove();
    this.#group = { value: undefined };
  }

  #open(): T | undefined {
    try {
      return this.#make();
    } catch (error) {
      if (error instanceof LimitUnavailableError) return this.#onUnavailable(error);
      throw error;
    }
  }
}

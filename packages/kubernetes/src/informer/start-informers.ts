import type { Client, ResourceKind } from "../client/client.ts";
import type { Cache, Informer, InformerOptions, Informers } from "./informer.ts";
import { type InformersOptions, KindInformer } from "./kind-informer.ts";

/** Returns the informers of a client. Each starts when it is first acquired. */
export function startInformers(client: Client, options: InformersOptions = {}): Informers {
  return new SharedInformers(client, options);
}

interface Shared {
  readonly informer: KindInformer;
  users: number;
}

class SharedInformers implements Informers {
  readonly #client: Client;
  readonly #options: InformersOptions;
  readonly #shared = new Map<string, Shared>();
  #stopped = false;

  constructor(client: Client, options: InformersOptions) {
    this.#client = client;
    this.#options = options;
  }

  acquire(kind: ResourceKind, options: InformerOptions = {}): { informer: Informer; release(): void } {
    if (this.#stopped) throw new TypeError("the informers are stopped");
    const key = keyOf(kind, options);
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      shared = { informer: new KindInformer(this.#client, kind, options, this.#options), users: 0 };
      this.#shared.set(key, shared);
    }
    const acquired = shared;
    acquired.users++;
    let released = false;
    return {
      informer: acquired.informer,
      release: () => {
        if (released) return;
        released = true;
        this.#release(key, acquired);
      },
    };
  }

  peek(kind: ResourceKind, options: InformerOptions = {}): Cache | undefined {
    const informer = this.#shared.get(keyOf(kind, options))?.informer;
    return informer?.synced === true ? informer.cache : undefined;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const all = [...this.#shared.values()];
    this.#shared.clear();
    await Promise.all(all.map(({ informer }) => informer.stop()));
  }

  #release(key: string, shared: Shared): void {
    if (--shared.users > 0) return;
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
    void shared.informer.stop();
  }
}

function keyOf({ group, version, plural }: ResourceKind, options: InformerOptions): string {
  const { labelSelector = "", fieldSelector = "", namespace = "", metadataOnly = false } = options;
  const { maxBytes, keepWhole, budget } = options;
  const selection = [group, version, plural, labelSelector, fieldSelector, namespace, metadataOnly];
  return JSON.stringify([...selection, maxBytes, keepWhole && numberOf(keepWhole), budget && numberOf(budget)]);
}

const numbers = new WeakMap<object, number>();
let lastNumber = 0;

function numberOf(one: object): number {
  const number = numbers.get(one) ?? ++lastNumber;
  numbers.set(one, number);
  return number;
}

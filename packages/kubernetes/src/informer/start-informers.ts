import { Shared } from "@xfn/lifetime";
import type { Client, ResourceKind } from "../client/client.ts";
import type { Cache, Informer, InformerOptions, Informers } from "./informer.ts";
import { type InformersOptions, KindInformer } from "./kind-informer.ts";

/** Returns the informers of a client. Each starts when it is first acquired. */
export function startInformers(client: Client, options: InformersOptions = {}): Informers {
  return new SharedInformers(client, options);
}

class SharedInformers implements Informers {
  readonly #client: Client;
  readonly #options: InformersOptions;
  readonly #shared = new Shared<string, KindInformer>((informer) => void informer.stop());
  #stopped = false;

  constructor(client: Client, options: InformersOptions) {
    this.#client = client;
    this.#options = options;
  }

  acquire(kind: ResourceKind, options: InformerOptions = {}): { informer: Informer; release(): void } {
    if (this.#stopped) throw new TypeError("the informers are stopped");
    const start = (): KindInformer => new KindInformer(this.#client, kind, options, this.#options);
    const { value: informer, release } = this.#shared.use(keyOf(kind, options), start);
    return { informer, release };
  }

  peek(kind: ResourceKind, options: InformerOptions = {}): Cache | undefined {
    const informer = this.#shared.peek(keyOf(kind, options));
    return informer?.synced === true ? informer.cache : undefined;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#shared.takeAll().map((informer) => informer.stop()));
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

import { Shared } from "@xfn/lifetime";
import type { Client, ResourceKind } from "../client/client.ts";
import type { InformerOptions, Informers } from "./informer.ts";
import { type InformersOptions, KindInformer } from "./kind-informer.ts";

/** Returns the informers of a client. Each starts when it is first acquired. */
export function startInformers(client: Client, options: InformersOptions = {}): Informers {
  const shared = new Shared<string, KindInformer>((informer) => void informer.stop());
  let stopped = false;
  return {
    acquire(kind, selection = {}) {
      if (stopped) throw new TypeError("the informers are stopped");
      const start = (): KindInformer => new KindInformer(client, kind, selection, options);
      const { value: informer, release } = shared.use(keyOf(kind, selection), start);
      return { informer, release };
    },
    peek(kind, selection = {}) {
      const informer = shared.peek(keyOf(kind, selection));
      return informer?.synced === true ? informer.cache : undefined;
    },
    async stop() {
      stopped = true;
      await Promise.all(shared.takeAll().map((informer) => informer.stop()));
    },
  };
}

function keyOf({ group, version, plural }: ResourceKind, options: InformerOptions): string {
  const { labelSelector = "", fieldSelector = "", namespace = "", metadataOnly = false } = options;
  const { maxBytes, keepWhole, budget, project } = options;
  const selection = [group, version, plural, labelSelector, fieldSelector, namespace, metadataOnly];
  const numbered = [keepWhole, budget, project].map((one) => one && numberOf(one));
  return JSON.stringify([...selection, maxBytes, ...numbered]);
}

const numbers = new WeakMap<object, number>();
let lastNumber = 0;

function numberOf(one: object): number {
  const number = numbers.get(one) ?? ++lastNumber;
  numbers.set(one, number);
  return number;
}

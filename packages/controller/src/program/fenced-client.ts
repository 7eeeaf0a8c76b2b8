import { ApiError, type Client } from "@xfn/kubernetes";

/**
 * A client that writes only as long as it may: a process that was stopped for a while, and goes on, may not know yet that another
 * has its lease, and whatever it had in hand would be written beside what the other one writes.
 *
 * @throws ApiError `Aborted` for a write that may not be
 */
export function fencedClient(client: Client, mayWrite: () => boolean): Client {
  const check = (): void => {
    if (!mayWrite()) throw new ApiError("Aborted", "the lease was lost: nothing is written any more");
  };
  return {
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    watch: (...args) => client.watch(...args),
    kind: (...args) => client.kind(...args),
    forgetKinds: () => client.forgetKinds(),
    async create(...args) {
      check();
      return await client.create(...args);
    },
    async update(...args) {
      check();
      return await client.update(...args);
    },
    async apply(...args) {
      check();
      return await client.apply(...args);
    },
    async patch(...args) {
      check();
      return await client.patch(...args);
    },
    async delete(...args) {
      check();
      return await client.delete(...args);
    },
    async raw(method, ...args) {
      if (method !== "GET") check();
      return await client.raw(method, ...args);
    },
  };
}

/** The number of concurrent requests: providers have hundreds of CRDs. */
export const PARALLEL = 8;

/** Maps items concurrently and returns the results in their order. After a failure, no further items begin. */
export async function inParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  lanes: number = PARALLEL,
): Promise<R[]> {
  const results: R[] = [];
  let failed = false;
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (failed) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: lanes }, worker));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
  return results;
}

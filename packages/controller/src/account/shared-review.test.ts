import { expect, test } from "vitest";
import { SharedReview } from "./shared-review.ts";

/** A review whose answers the test gives. */
function stage() {
  const questions: PromiseWithResolvers<boolean>[] = [];
  let now = 0;
  const review = new SharedReview(
    (signal) => {
      const question = Promise.withResolvers<boolean>();
      signal.addEventListener("abort", () => question.reject(signal.reason as Error));
      questions.push(question);
      return question.promise;
    },
    () => now,
  );
  return { review, questions, wait: (ms: number) => void (now += ms) };
}

const never = new AbortController().signal;

test("callers share a question, and its yes for ten seconds", async () => {
  const { review, questions, wait } = stage();
  const asked = [review.isYes(never), review.isYes(never)];
  questions[0]?.resolve(true);
  expect(await Promise.all(asked)).toEqual([true, true]);
  wait(9_999);
  expect(await review.isYes(never)).toBe(true);
  expect(questions).toHaveLength(1);
  wait(1);
  const again = review.isYes(never);
  questions[1]?.resolve(false);
  expect(await again).toBe(false);
});

test("a yes is not kept when the clock goes back", async () => {
  const { review, questions, wait } = stage();
  const first = review.isYes(never);
  questions[0]?.resolve(true);
  await first;
  wait(-3_600_000);
  const again = review.isYes(never);
  questions[1]?.resolve(false);
  expect(await again).toBe(false);
});

test("a no and an error are not kept", async () => {
  const { review, questions } = stage();
  const no = review.isYes(never);
  questions[0]?.resolve(false);
  expect(await no).toBe(false);
  const failed = review.isYes(never);
  questions[1]?.reject(new Error("no answer"));
  await expect(failed).rejects.toThrow("no answer");
  const yes = review.isYes(never);
  questions[2]?.resolve(true);
  expect(await yes).toBe(true);
});

test("a caller that ends does not fail the others: they ask once more, together", async () => {
  const { review, questions } = stage();
  const aborter = new AbortController();
  const first = review.isYes(aborter.signal);
  const others = [review.isYes(never), review.isYes(never)];
  aborter.abort(new Error("its deadline passed"));
  await expect(first).rejects.toThrow("its deadline passed");
  await expect.poll(() => questions.length).toBe(2);
  questions[1]?.resolve(true);
  expect(await Promise.all(others)).toEqual([true, true]);
  expect(questions).toHaveLength(2);
});

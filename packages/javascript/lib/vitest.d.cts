export { useServer, useSpace } from "./jest.cjs";
export type { PerTest } from "./jest.cjs";

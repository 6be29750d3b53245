import { withOptions } from "./vitest-global-setup.cjs";

export { withOptions };
// Of a module of CommonJS the default would be the whole module.
declare const setup: ReturnType<typeof withOptions>;
export default setup;

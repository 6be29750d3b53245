// Numbers, sizes and times for display.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes(count) {
  if (count === undefined || Number.isNaN(count)) return '–';
  let unit = 0, value = count;
  while (value >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit++; }
  return `${unit === 0 ? Math.round(value) : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${UNITS[unit]}`;
}

const whole = new Intl.NumberFormat('en-US');
export const number = (value) => (value === undefined ? '–' : whole.format(value));

/** A number in a few characters: `12.3k`. */
export function short(value) {
  for (const [unit, letter] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (value >= unit) return (value / unit).toFixed(value < 10 * unit ? 1 : 0) + letter;
  }
  return value >= 10 || value === 0 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toPrecision(2);
}

export function seconds(value) {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (value >= 1) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  if (value >= 0.001) return `${(value * 1000).toFixed(value < 0.01 ? 2 : 1)} ms`;
  return `${Math.round(value * 1e6)} µs`;
}

/** A long duration in two units. */
export function span(seconds) {
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  return days ? `${days} d ${hours} h` : hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

const two = (value) => String(value).padStart(2, '0');

/** A local time in sortable notation. */
export function time(text) {
  const at = new Date(text);
  if (!text || Number.isNaN(+at)) return '–';
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** A local time with seconds. */
export const timeOf = (text) => (time(text) === '–' ? '–' : `${time(text)}:${two(new Date(text).getSeconds())}`);

/** The end of a version id: ids of one time begin alike. */
export const shortVersion = (version) => (version.length > 12 ? `…${version.slice(-6)}` : version);

export const clock = (text) => {
  const at = new Date(text);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
};

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** The last part of a key, with the slash of a folder. */
export function baseName(key) {
  const cut = key.slice(0, -1).lastIndexOf('/') + 1;
  return key.slice(cut);
}

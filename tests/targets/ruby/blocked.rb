# SPDX-License-Identifier: LGPL-2.1-or-later
# Says by caller() where it is, and waits there for input.

module Shop
  module Waiting
    def wait_for(what)
      [what].map do |x|
        begin
          raise "x"
        rescue RuntimeError
          here(x)
        end
      end
    end
  end

  class Base
    include Waiting

    def self.make(*arguments)
      new(*arguments)
    end

    def here(x)
      said = caller(0)
      STDERR.puts(said, "ready"); STDIN.gets
      x
    end
  end

  class Order < Base
    def initialize(id)
      @id = id
      items { |x| wait_for(x) }
    end

    def items
      [[@id, 1]].each_with_index { |(x, y), i| yield x }
    end
  end

  def self.place(id)
    runner = Class.new do
      define_method(:run) { |x| Order.make(x) }
      def method_missing(name, *arguments)
        run(*arguments)
      end
    end
    runner.new.unknown(id)
  end
end

def deep(n)
  n == 0 ? eval("Shop.place(7)", binding, "made.rb", 3) : deep(n - 1)
end

[2, 1].sort_by { |x| deep(x) }
